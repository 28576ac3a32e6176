-- A shop as it grew over the years: every kind of key and most types, so that a copy of it shows something.

CREATE TABLE categories (
  id         smallint unsigned NOT NULL AUTO_INCREMENT,
  parent_id  smallint unsigned DEFAULT NULL,
  name       varchar(60) NOT NULL,
  slug       varchar(60) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  PRIMARY KEY (id),
  UNIQUE KEY categories_slug (slug),
  KEY categories_parent (parent_id),
  CONSTRAINT categories_parent_fk FOREIGN KEY (parent_id) REFERENCES categories (id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci COMMENT='a tree';

CREATE TABLE customers (
  id           int unsigned NOT NULL AUTO_INCREMENT,
  email        varchar(120) NOT NULL,
  name         varchar(100) NOT NULL COMMENT 'as they write it themselves',
  tier         enum('basic','silver','gold','platinum') NOT NULL DEFAULT 'basic',
  birthday     date DEFAULT NULL,
  phone        varchar(20) DEFAULT NULL,
  newsletter   tinyint(1) NOT NULL DEFAULT 0,
  credit_limit decimal(10,2) NOT NULL DEFAULT 0.00,
  preferences  json DEFAULT NULL,
  created_at   timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP,
  last_seen_at datetime(3) DEFAULT NULL,
  PRIMARY KEY (id),
  UNIQUE KEY customers_email (email),
  CONSTRAINT customers_credit CHECK (credit_limit >= 0)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE products (
  id           int unsigned NOT NULL AUTO_INCREMENT,
  sku          varchar(20) NOT NULL,
  category_id  smallint unsigned NOT NULL,
  name         varchar(120) NOT NULL,
  description  text,
  price        decimal(10,2) NOT NULL,
  weight_kg    float DEFAULT NULL,
  tags         set('new','sale','organic','fragile','bulky','gift') NOT NULL DEFAULT '',
  introduced   year DEFAULT NULL,
  active       tinyint(1) NOT NULL DEFAULT 1,
  image_sha256 varbinary(32) DEFAULT NULL,
  thumbnail    blob,
  PRIMARY KEY (id),
  UNIQUE KEY products_sku (sku),
  KEY products_category (category_id),
  CONSTRAINT products_category_fk FOREIGN KEY (category_id) REFERENCES categories (id),
  CONSTRAINT products_price CHECK (price > 0)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE warehouses (
  code      varchar(8) NOT NULL,
  name      varchar(60) NOT NULL,
  latitude  double NOT NULL,
  longitude double NOT NULL,
  opens     time NOT NULL,
  closes    time NOT NULL,
  transit   time(3) NOT NULL COMMENT 'to the hub; may be days',
  open_days bit(7) NOT NULL COMMENT 'Monday is the lowest bit',
  PRIMARY KEY (code)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE stock_levels (
  warehouse_code varchar(8) NOT NULL,
  sku            varchar(20) NOT NULL,
  quantity       int NOT NULL COMMENT 'negative: promised but not there',
  shelf          varchar(12) DEFAULT NULL,
  counted_on     date DEFAULT NULL,
  PRIMARY KEY (warehouse_code, sku),
  KEY stock_levels_sku (sku),
  CONSTRAINT stock_levels_warehouse_fk FOREIGN KEY (warehouse_code) REFERENCES warehouses (code),
  CONSTRAINT stock_levels_sku_fk FOREIGN KEY (sku) REFERENCES products (sku)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE orders (
  id          bigint NOT NULL AUTO_INCREMENT,
  customer_id int unsigned NOT NULL,
  status      enum('paid','packed','shipped','delivered','returned') NOT NULL DEFAULT 'paid',
  total       decimal(12,2) NOT NULL,
  placed_at   datetime(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  shipped_at  datetime(6) DEFAULT NULL,
  coupon      varchar(16) DEFAULT NULL,
  note        varchar(200) DEFAULT NULL,
  PRIMARY KEY (id),
  KEY orders_customer (customer_id, placed_at),
  KEY orders_placed (placed_at),
  CONSTRAINT orders_customer_fk FOREIGN KEY (customer_id) REFERENCES customers (id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE order_items (
  order_id   bigint NOT NULL,
  line_no    tinyint unsigned NOT NULL,
  product_id int unsigned NOT NULL,
  quantity   smallint unsigned NOT NULL,
  unit_price decimal(10,2) NOT NULL,
  gift_note  varchar(100) DEFAULT NULL,
  PRIMARY KEY (order_id, line_no),
  KEY order_items_product (product_id),
  CONSTRAINT order_items_order_fk FOREIGN KEY (order_id) REFERENCES orders (id) ON DELETE CASCADE,
  CONSTRAINT order_items_product_fk FOREIGN KEY (product_id) REFERENCES products (id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE sessions (
  id          binary(16) NOT NULL,
  customer_id int unsigned DEFAULT NULL,
  ip          varbinary(16) NOT NULL,
  user_agent  varchar(120) NOT NULL,
  basket      json DEFAULT NULL,
  expires_at  timestamp(3) NULL DEFAULT NULL,
  PRIMARY KEY (id),
  KEY sessions_customer (customer_id),
  CONSTRAINT sessions_customer_fk FOREIGN KEY (customer_id) REFERENCES customers (id) ON DELETE SET NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE exchange_rates (
  day      date NOT NULL,
  currency char(3) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  rate     decimal(20,10) NOT NULL COMMENT 'of one euro',
  PRIMARY KEY (day, currency)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE audit_log (
  at        datetime(6) NOT NULL,
  actor     varchar(60) NOT NULL,
  action    varchar(20) NOT NULL,
  entity    varchar(20) NOT NULL,
  entity_id bigint DEFAULT NULL,
  took_ms   double DEFAULT NULL,
  detail    text
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci COMMENT='no key at all';
