package cluster

import (
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
)

// UIVariable is the environment variable with the address of the Web UI.
const UIVariable = "TEMPORAL_UI_URL"

// Link is the page of a workflow in the Web UI, empty when nobody knows where
// the Web UI is. Without a run id it leads to the latest run.
func (c *Client) Link(workflowID, runID string) string {
	if c.ui == "" {
		return ""
	}
	link := c.ui + "/namespaces/" + url.PathEscape(c.Namespace) + "/workflows/" + url.PathEscape(workflowID)
	if runID != "" {
		link += "/" + url.PathEscape(runID)
	}
	return link
}

// uiAddress is where the Web UI of the cluster at an address is: where the
// environment says, at Temporal Cloud's, or where a development server has it,
// 1000 ports further. Behind TLS nothing can be guessed.
func uiAddress(address string, tls bool) string {
	if given := os.Getenv(UIVariable); given != "" {
		return strings.TrimRight(given, "/")
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return ""
	}
	if strings.HasSuffix(host, ".tmprl.cloud") || strings.HasSuffix(host, ".api.temporal.io") {
		return "https://cloud.temporal.io"
	}
	number, err := strconv.Atoi(port)
	if err != nil || tls || number+1000 > 65535 {
		return ""
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && (ip.IsLoopback() || ip.IsUnspecified()) {
		host = "localhost"
	}
	return "http://" + net.JoinHostPort(host, strconv.Itoa(number+1000))
}
