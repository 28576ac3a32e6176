package shop

// culture is where a customer comes from: names in their own writing, and in the one of an email address.
type culture struct {
	given, family []name
	join          string // between the two
	familyFirst   bool
	phone         string // country code
	language      string
}

type name struct{ native, ascii string }

var cultures = []culture{
	{phone: "+44", language: "en", join: " ",
		given:  []name{{"Olivia", "olivia"}, {"George", "george"}, {"Amelia", "amelia"}, {"Harry", "harry"}, {"Siân", "sian"}, {"Zoë", "zoe"}},
		family: []name{{"Smith", "smith"}, {"O'Connor", "oconnor"}, {"Taylor", "taylor"}, {"Brontë", "bronte"}, {"Fitzgerald-Jones", "fitzgerald"}}},
	{phone: "+49", language: "de", join: " ",
		given:  []name{{"Jürgen", "juergen"}, {"Anke", "anke"}, {"Björn", "bjoern"}, {"Käthe", "kaethe"}, {"Lukas", "lukas"}, {"Sören", "soeren"}},
		family: []name{{"Müller", "mueller"}, {"Groß", "gross"}, {"Schäfer", "schaefer"}, {"von der Heide", "heide"}, {"Weiß", "weiss"}}},
	{phone: "+33", language: "fr", join: " ",
		given:  []name{{"Zoé", "zoe"}, {"François", "francois"}, {"Anaïs", "anais"}, {"Jérôme", "jerome"}, {"Maëlle", "maelle"}},
		family: []name{{"Lefèvre", "lefevre"}, {"Dupont", "dupont"}, {"L'Hôpital", "lhopital"}, {"Bérenger", "berenger"}, {"Gauthier", "gauthier"}}},
	{phone: "+86", language: "zh", familyFirst: true,
		given:  []name{{"伟", "wei"}, {"秀英", "xiuying"}, {"子涵", "zihan"}, {"建国", "jianguo"}, {"雨桐", "yutong"}, {"浩然", "haoran"}, {"美玲", "meiling"}},
		family: []name{{"王", "wang"}, {"李", "li"}, {"张", "zhang"}, {"陈", "chen"}, {"欧阳", "ouyang"}, {"诸葛", "zhuge"}, {"𠮷", "ji"}}},
	{phone: "+81", language: "ja", join: " ", familyFirst: true,
		given:  []name{{"さくら", "sakura"}, {"陽翔", "haruto"}, {"結衣", "yui"}, {"ケンジ", "kenji"}, {"美咲", "misaki"}},
		family: []name{{"佐藤", "sato"}, {"髙橋", "takahashi"}, {"渡邊", "watanabe"}, {"鈴木", "suzuki"}, {"小林", "kobayashi"}}},
	{phone: "+82", language: "ko", familyFirst: true,
		given:  []name{{"민준", "minjun"}, {"서연", "seoyeon"}, {"지우", "jiwoo"}, {"하은", "haeun"}, {"도윤", "doyun"}},
		family: []name{{"김", "kim"}, {"이", "lee"}, {"박", "park"}, {"최", "choi"}, {"정", "jung"}}},
	{phone: "+7", language: "ru", join: " ",
		given:  []name{{"Алексей", "alexey"}, {"Мария", "maria"}, {"Пётр", "pyotr"}, {"Наталья", "natalya"}, {"Сергей", "sergey"}},
		family: []name{{"Иваненко", "ivanenko"}, {"Кузьмич", "kuzmich"}, {"Шевчук", "shevchuk"}, {"Белых", "belykh"}, {"Щукарь", "shchukar"}}},
	{phone: "+90", language: "tr", join: " ",
		given:  []name{{"Işıl", "isil"}, {"İbrahim", "ibrahim"}, {"Ayşe", "ayse"}, {"Çağlar", "caglar"}, {"Gülşen", "gulsen"}},
		family: []name{{"Yılmaz", "yilmaz"}, {"Öztürk", "ozturk"}, {"Şahin", "sahin"}, {"Güneş", "gunes"}, {"Aydın", "aydin"}}},
	{phone: "+966", language: "ar", join: " ",
		given:  []name{{"محمد", "mohammed"}, {"فاطمة", "fatima"}, {"ليلى", "layla"}, {"يوسف", "yusuf"}, {"نور", "nour"}},
		family: []name{{"الحربي", "alharbi"}, {"القحطاني", "alqahtani"}, {"حداد", "haddad"}, {"منصور", "mansour"}, {"الزهراني", "alzahrani"}}},
	{phone: "+91", language: "hi", join: " ",
		given:  []name{{"आरव", "aarav"}, {"प्रिया", "priya"}, {"रोहन", "rohan"}, {"दीपिका", "deepika"}, {"अनन्या", "ananya"}},
		family: []name{{"शर्मा", "sharma"}, {"पटेल", "patel"}, {"सिंह", "singh"}, {"गुप्ता", "gupta"}, {"अय्यर", "iyer"}}},
	{phone: "+84", language: "vi", join: " ", familyFirst: true,
		given:  []name{{"Minh Anh", "minhanh"}, {"Thị Hồng", "hong"}, {"Đức", "duc"}, {"Quỳnh", "quynh"}, {"Hữu Phước", "phuoc"}},
		family: []name{{"Nguyễn", "nguyen"}, {"Trần", "tran"}, {"Phạm", "pham"}, {"Đặng", "dang"}, {"Lê", "le"}}},
	{phone: "+48", language: "pl", join: " ",
		given:  []name{{"Łukasz", "lukasz"}, {"Małgorzata", "malgorzata"}, {"Żaneta", "zaneta"}, {"Jędrzej", "jedrzej"}, {"Święcisława", "swiecislawa"}},
		family: []name{{"Wójcik", "wojcik"}, {"Kowalczyk", "kowalczyk"}, {"Zięba", "zieba"}, {"Błaszczyk", "blaszczyk"}, {"Dąbrowska", "dabrowska"}}},
}

// emoji are one code point, several, and families joined by zero-width joiners.
var emoji = []string{"☕", "🎁", "🚲", "🦆", "❤️", "👍🏽", "👩‍👩‍👧‍👦", "🏳️‍🌈", "🇨🇳", "🥐"}

type department struct {
	name, slug string
	shelves    []string
	things     []string
}

var departments = []department{
	{"Kitchen · 厨房", "kitchen", []string{"Tea & coffee", "Pots", "Knives", "Bowls"}, []string{"teapot", "kettle", "wok", "bread knife", "noodle bowl", "café press"}},
	{"Garden · Jardin", "garden", []string{"Tools", "Seeds", "Furniture", "Lights"}, []string{"spade", "seed box", "deck chair", "lantern", "watering can", "bird table"}},
	{"Books · 书籍", "books", []string{"Novels", "Travel", "Children", "Maps"}, []string{"novel", "atlas", "picture book", "field guide", "dictionary", "notebook"}},
	{"Outdoor · アウトドア", "outdoor", []string{"Tents", "Boots", "Bags", "Stoves"}, []string{"tent", "rucksack", "sleeping bag", "camping stove", "head torch", "rain jacket"}},
	{"Music · Музыка", "music", []string{"Strings", "Winds", "Drums", "Keys"}, []string{"ukulele", "recorder", "cajón", "kalimba", "metronome", "music stand"}},
	{"Toys · Spielzeug", "toys", []string{"Wood", "Puzzles", "Kites", "Trains"}, []string{"puzzle", "kite", "wooden train", "spinning top", "marble run", "glove puppet"}},
}

var adjectives = []string{"blue", "small", "sturdy", "handmade", "folding", "grand", "crème", "recycled", "extra-large", "vintage"}

// sentences have what is apt to get lost on the way: quotes, a backslash, a tab, a line's end, text that looks like NULL.
var sentences = []string{
	"Made to last a lifetime.",
	"Comes with a 5\" handle and \"no nonsense\" instructions.",
	"Fits 90 % of all shelves; the other 10 % don't deserve it.",
	"Size:\t30 × 20 × 10 cm\nWeight: see below",
	"Wipe it with a damp cloth, never with C:\\solvents\\strong.",
	"适合送礼，七天无理由退货。",
	"Für drinnen & draußen; spülmaschinenfest bis 65 °C.",
	"Customers say: “très bon”, «отлично», 「最高」!",
	"Out of stock is NULL, sold out is \\N, and none is 0.",
	"Packed without plastic.\r\nPlease return the box.",
}

type place struct {
	code, name          string
	latitude, longitude float64
	opens, closes       string
	transit             string
	days                int // a bit a weekday
}

var places = []place{
	{"AMS", "Amsterdam", 52.3702157, 4.8951679, "06:00:00", "22:30:00", "04:15:00.000", 0b0111111},
	{"BER", "Berlin-Großbeeren", 52.3547, 13.3103, "05:30:00", "23:59:59", "00:00:00.001", 0b1111111},
	{"BLR", "ಬೆಂಗಳೂರು", 12.9715987, 77.5945627, "08:00:00", "20:00:00", "71:30:00.500", 0b0111111},
	{"CDG", "Roissy-en-France", 49.0036, 2.5170, "00:00:00", "23:59:59", "09:05:10.250", 0b1111111},
	{"CPT", "Cape Town", -33.9248685, 18.4240553, "07:00:00", "17:00:00", "130:00:00.000", 0b0011111},
	{"IST", "İstanbul", 41.0082376, 28.9783589, "07:30:00", "21:00:00", "26:45:00.000", 0b0111111},
	{"KIX", "大阪", 34.6937249, 135.5022535, "06:00:00", "21:30:00", "98:20:00.125", 0b1011111},
	{"PVG", "上海浦东", 31.1443439, 121.808273, "00:00:00", "23:59:59", "88:00:00.000", 0b1111111},
	{"SCL", "Santiago de Chile", -33.4488897, -70.6692655, "08:30:00", "18:00:00", "141:10:00.000", 0b0011111},
	{"SFO", "San José", 37.3387, -121.8853, "06:00:00", "23:00:00", "60:00:00.750", 0b1111111},
	{"WAW", "Łódź", 51.7592485, 19.4559833, "06:30:00", "22:00:00", "06:40:00.000", 0b0111110},
	{"ZRH", "Zürich", 47.3768866, 8.541694, "07:00:00", "18:30:00", "07:59:59.999", 0b0000001},
}

// currencies are what one euro buys of each, about.
var currencies = []struct {
	code string
	rate float64
}{
	{"AUD", 1.62}, {"CHF", 0.94}, {"CNY", 7.65}, {"GBP", 0.84}, {"INR", 88.9}, {"JPY", 161.2}, {"KRW", 1478.5}, {"PLN", 4.31}, {"TRY", 36.4}, {"USD", 1.06},
	{"VND", 26870.0}, {"ZAR", 19.1},
}

var (
	agents = []string{"Mozilla/5.0 (X11; Linux x86_64; rv:131.0) Gecko/20100101 Firefox/131.0", "Mozilla/5.0 (iPhone; CPU iPhone OS 17_6 like Mac OS X)",
		"curl/8.9.1", "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36"}
	actions  = []string{"login", "view", "update", "delete", "export", "refund"}
	entities = []string{"order", "customer", "product", "stock"}
	notes    = []string{"Please ring twice", "放在门口，谢谢", "Hinterhof, 2. Stock", "No onions, please!", "à l'attention de Mme Lefèvre", "للمكتب", "c/o Müller & Söhne"}
)
