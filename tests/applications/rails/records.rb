# Rails' ActiveRecord: `ruby records.rb HOST PORT USER DATABASE`. Prints its steps, which are the same on Keyspan and on PostgreSQL.
begin
  require 'logger'
  require 'pg'
  require 'active_record'
rescue LoadError => e
  warn e.message
  exit 77
end
require 'stringio'
require 'json'

host, port, user, database = ARGV
CONFIG = { adapter: 'postgresql', host: host, port: port.to_i, username: user, database: database, pool: 5, min_messages: 'warning' }.freeze
ActiveRecord::Base.establish_connection(CONFIG)
ActiveRecord::Base.logger = Logger.new($stderr) if ENV['SHOW_SQL']
ActiveRecord::Migration.verbose = false
ActiveRecord::Base.default_timezone = :utc

def step(name)
  puts "#{name} OK #{yield.to_json}"
rescue StandardError, NotImplementedError => error
  puts "#{name} FAIL #{error.class} #{error.message.gsub("\n", ' | ')}"
end

class First < ActiveRecord::Migration[6.1]
  def change
    enable_extension 'pgcrypto'
    create_table :authors do |t|
      t.string :name, null: false, limit: 60
      t.string :email, index: { unique: true }
      t.integer :status, default: 0, null: false
      t.jsonb :settings, default: {}, null: false
      t.string :tags, array: true, default: []
      t.decimal :balance, precision: 12, scale: 2, default: '0.0'
      t.boolean :active, default: true
      t.date :born
      t.integer :lock_version, default: 0
      t.integer :books_count, default: 0, null: false
      t.timestamps
    end
    create_table :books do |t|
      t.references :author, null: false, foreign_key: { on_delete: :cascade }
      t.string :title, null: false
      t.text :body
      t.integer :pages
      t.datetime :published_at, precision: 6
      t.timestamps
    end
    create_table :tags, id: :uuid, default: -> { 'gen_random_uuid()' } do |t|
      t.string :name
    end
    create_table :books_tags, id: false do |t|
      t.references :book, null: false, foreign_key: true
      t.references :tag, null: false, type: :uuid, foreign_key: true
      t.index %i[book_id tag_id], unique: true
    end
  end
end

class Second < ActiveRecord::Migration[6.1]
  def change
    add_column :books, :isbn, :string, limit: 20
    add_column :books, :rating, :float, default: 1.5, null: false
    add_index :books, :isbn, unique: true, where: 'isbn IS NOT NULL'
    add_index :books, 'lower(title)', name: 'books_lower_title'
    add_index :authors, %i[active name], order: { name: :desc }
    add_check_constraint :books, 'pages > 0', name: 'pages_positive'
    rename_column :books, :body, :contents
    change_column_default :books, :pages, from: nil, to: 10
    change_column_null :books, :pages, false, 1
    add_reference :books, :editor, foreign_key: { to_table: :authors }
    change_table_comment :books, from: nil, to: 'what is read'
    change_column_comment :books, :title, from: nil, to: 'its title'
  end
end

class Third < ActiveRecord::Migration[6.1]
  def up
    change_column :books, :pages, :bigint
    change_column :authors, :name, :text
    remove_column :books, :rating
    rename_table :books, :works
    rename_index :works, 'index_works_on_isbn', 'works_isbn'
    add_timestamps :tags, default: -> { 'now()' }
    execute 'CREATE VIEW old_works AS SELECT id, title FROM works WHERE pages > 100'
  end

  def down
    execute 'DROP VIEW old_works'
    remove_timestamps :tags
    rename_index :works, 'works_isbn', 'index_works_on_isbn'
    rename_table :works, :books
    add_column :books, :rating, :float, default: 1.5, null: false
    change_column :authors, :name, :string, limit: 60
    change_column :books, :pages, :integer
  end
end

class Besides < ActiveRecord::Migration[6.1]
  disable_ddl_transaction!
  def change
    add_index :books, :published_at, algorithm: :concurrently
  end
end

class Author < ActiveRecord::Base
  has_many :books, dependent: :destroy, inverse_of: :author
  has_many :edited, class_name: 'Book', foreign_key: :editor_id
  enum status: { draft: 0, live: 1, gone: 2 }
  store_accessor :settings, :theme
  validates :email, uniqueness: true, allow_nil: true
  validates :name, presence: true, length: { maximum: 60 }
  scope :rich, -> { where('balance > ?', 100) }
end

class Book < ActiveRecord::Base
  belongs_to :author, counter_cache: true
  belongs_to :editor, class_name: 'Author', optional: true
  has_and_belongs_to_many :tags
  validates :isbn, uniqueness: { scope: :author_id, case_sensitive: false }, allow_nil: true
end

class Tag < ActiveRecord::Base
  has_and_belongs_to_many :books
end

def reset
  [Author, Book, Tag].each(&:reset_column_information)
end

connection = ActiveRecord::Base.connection
class Chain
  def self.run(version, klass, direction = :up)
    proxy = ActiveRecord::MigrationProxy.new(klass.name, version, '', '')
    proxy.define_singleton_method(:load_migration) { klass.new(klass.name, version) }
    ActiveRecord::SchemaMigration.create_table
    ActiveRecord::InternalMetadata.create_table
    ActiveRecord::Migrator.new(direction, [proxy], ActiveRecord::SchemaMigration, version).run
    ActiveRecord::SchemaMigration.all_versions
  end
end

step('first migration') { Chain.run(1, First) }
step('second migration') { Chain.run(2, Second) }
step('third migration') { Chain.run(3, Third) }
step('third undone') { Chain.run(3, Third, :down) }
step('concurrent index') { Chain.run(4, Besides) }
reset
step('tables') { connection.tables.sort }
step('columns') { %w[authors books tags books_tags].map { |t| connection.columns(t).map { |c| [c.name, c.sql_type, c.null, c.default, c.default_function, c.comment, c.limit, c.precision, c.scale] } } }
step('indexes') { %w[authors books books_tags].map { |t| connection.indexes(t).map { |i| [i.name, i.columns, i.unique, i.where, i.orders, i.using].map(&:to_s) }.sort } }
step('foreign keys') { connection.foreign_keys('books').map { |k| [k.to_table, k.column, k.on_delete.to_s] }.sort }
step('check constraints') { connection.check_constraints('books').map { |c| [c.name, c.expression] } }
step('primary keys') { [connection.primary_key('authors'), connection.primary_keys('books_tags'), connection.pk_and_sequence_for('authors').map(&:to_s)] }
step('comments') { [connection.table_comment('books')] }
step('schema dump') { out = StringIO.new; ActiveRecord::SchemaDumper.dump(connection, out); out.string.lines.reject { |l| l =~ /ActiveRecord::Schema.define/ } }
step('create') { a = Author.create!(name: 'Ann', email: 'ann@x', tags: %w[a b], settings: { theme: 'dark', n: 1 }, balance: '10.50', born: '1980-02-03'); [a.id, a.reload.tags, a.settings, a.balance, a.status, a.lock_version] }
step('many') { Author.create!((1..10).map { |n| { name: "n#{n}", email: "n#{n}@x", balance: n * 30, status: n % 3 } }).size }
step('validations') { a = Author.new(name: 'x', email: 'ann@x'); [a.valid?, a.errors.full_messages] }
step('unique violation') { begin; Author.new(name: 'x', email: 'ann@x').save!(validate: false); rescue ActiveRecord::RecordNotUnique => e; e.message.lines.first; end }
step('not null') { begin; Author.new(email: 'q').save!(validate: false); rescue ActiveRecord::NotNullViolation => e; e.class.name; end }
step('foreign key violation') { begin; Book.new(author_id: 999, title: 'x').save!(validate: false); rescue ActiveRecord::InvalidForeignKey => e; e.class.name; end }
step('too long') { begin; Author.new(name: 'y' * 100).save!(validate: false); rescue ActiveRecord::ValueTooLong => e; e.class.name; end }
step('check') { begin; Book.create!(author: Author.first, title: 'x', pages: -1); rescue ActiveRecord::StatementInvalid => e; e.message.lines.first; end }
step('associations') { a = Author.find_by!(name: 'Ann'); b = a.books.create!(title: 'One', pages: 120, isbn: 'i1', published_at: Time.utc(2020, 1, 2, 3, 4, 5.678901r)); a.books.create!(title: 'Two', pages: 5, editor: Author.find_by(name: 'n1')); [a.reload.books_count, b.published_at.utc.iso8601(6), a.books.order(:title).pluck(:title, :pages)] }
step('many to many') { b = Book.find_by(title: 'One'); b.tags << Tag.create!(name: 'red') << Tag.create!(name: 'blue'); [b.tags.order(:name).pluck(:name), Tag.joins(:books).where(books: { title: 'One' }).count] }
step('includes') { Author.includes(books: :tags).order(:id).map { |a| [a.name, a.books.map { |b| [b.title, b.tags.map(&:name).sort] }.sort] } }
step('eager load') { Author.eager_load(:books).where(books: { pages: 100.. }).order(:id).map(&:name) }
step('eager load limit') { Author.eager_load(:books).order('authors.id').limit(2).map { |a| [a.name, a.books.size] } }
step('joins') { [Author.joins(:books).distinct.order(:name).pluck(:name), Author.left_outer_joins(:books).where(books: { id: nil }).count, Author.joins(:edited).pluck('authors.name')] }
step('group') { [Author.group(:status).order(:status).count, Author.group(:active).sum(:balance), Author.average(:balance), Author.where(status: :live).minimum(:name), Book.group("date_trunc('year', published_at)").count.size] }
step('having') { Author.joins(:books).group('authors.id').having('count(books.id) > 1').count.size }
step('where') { [Author.where.not(status: :draft).count, Author.where(name: %w[Ann n1]).or(Author.where(balance: 60)).count, Author.where("settings->>'theme' = ?", 'dark').count, Author.where('settings @> ?', { n: 1 }.to_json).count, Author.where("'a' = ANY (tags)").count, Author.where('tags @> ARRAY[?]::varchar[]', %w[a b]).count, Author.rich.count, Author.where(born: Date.new(1979)..).count] }
step('find each') { n = 0; Author.find_each(batch_size: 3) { n += 1 }; b = Author.in_batches(of: 4).map(&:count); [n, b] }
step('exists') { [Author.exists?(name: 'Ann'), Author.where(name: 'zz').exists?, Author.none.count, Author.last.name, Author.take.nil?, Author.order(:name).second.name] }
step('pluck pick') { [Author.order(:id).limit(2).pluck(:name, :born, :balance, :tags, :settings), Author.order(:id).pick(:email)] }
step('update all') { [Author.where(status: :gone).update_all(['balance = balance + ?', 1]), Author.update_counters(Author.first.id, lock_version: 0), Author.where(name: 'n2').touch_all] }
step('increment') { a = Author.first; a.increment!(:balance, 5); a.toggle!(:active); [a.reload.balance, a.active] }
step('optimistic lock') { a = Author.first; b = Author.first; a.update!(name: 'Ann B'); begin; b.update!(name: 'other'); rescue ActiveRecord::StaleObjectError => e; e.class.name; end }
step('pessimistic lock') { Author.transaction { a = Author.lock.find_by(name: 'n1'); a.with_lock { a.update!(balance: 77) }; Author.lock('FOR UPDATE SKIP LOCKED').order(:id).first.name; Author.lock('FOR SHARE').find(a.id).balance } }
step('transactions') { Author.transaction { Author.create!(name: 'gone'); raise ActiveRecord::Rollback }; Author.transaction { Author.create!(name: 'kept'); Author.transaction(requires_new: true) { Author.create!(name: 'nested'); raise ActiveRecord::Rollback } }; Author.where(name: %w[gone kept nested]).pluck(:name) }
step('isolation') { Author.transaction(isolation: :serializable) { Author.create!(name: 'ser').persisted? } }
step('savepoint after error') { Author.transaction { Author.transaction(requires_new: true) { Author.new(name: 'x', email: 'ann@x').save!(validate: false) } rescue nil; Author.count } }
step('insert all') { r = Author.insert_all([{ name: 'i1', email: 'i1@x', created_at: Time.now, updated_at: Time.now }, { name: 'dup', email: 'ann@x', created_at: Time.now, updated_at: Time.now }], unique_by: :email, returning: %w[name]); r.rows }
step('upsert all') { Author.upsert_all([{ name: 'i1b', email: 'i1@x', created_at: Time.now, updated_at: Time.now }], unique_by: :index_authors_on_email); Author.where(email: 'i1@x').pluck(:name) }
step('insert all!') { begin; Author.insert_all!([{ name: 'z', email: 'ann@x', created_at: Time.now, updated_at: Time.now }]); rescue ActiveRecord::RecordNotUnique => e; e.class.name; end }
step('upsert by id') { Book.upsert({ id: Book.first.id, author_id: Author.first.id, title: 'One again', created_at: Time.now, updated_at: Time.now }); Book.first.title }
step('create or find') { [Tag.create_or_find_by(name: 'red').name, Author.find_or_create_by!(name: 'foc').persisted?, Author.find_or_initialize_by(name: 'foi').new_record?] }
step('enum') { a = Author.find_by(name: 'n1'); a.live!; [a.live?, Author.live.count, Author.statuses] }
step('json store') { a = Author.first; a.theme = 'light'; a.save!; Author.first.settings }
step('array change') { a = Author.first; a.tags << 'c'; a.save!; Author.first.tags }
step('dirty') { a = Author.first; a.name = 'Zed'; [a.changes, a.saved_changes?] }
step('subquery') { [Author.where(id: Book.select(:author_id)).count, Author.from(Author.where(status: :draft), :authors).count, Author.select('authors.*, (SELECT count(*) FROM books WHERE books.author_id = authors.id) AS n').order(:id).first.n] }
step('sql') { [Author.find_by_sql(['SELECT name FROM authors WHERE id = ?', 1]).map(&:name), connection.select_value('SELECT 1'), connection.select_rows("SELECT 'a', NULL, 1.5, true, date '2020-01-01'"), connection.exec_query('SELECT $1::int AS a', 'SQL', [[nil, 5]]).to_a] }
step('cte') { connection.select_all('WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 5) SELECT sum(n) AS s FROM t').to_a }
step('window') { Author.select('name, rank() OVER (ORDER BY balance DESC NULLS LAST, id) AS r').order('r').limit(3).map { |a| [a.name, a.r] } }
step('explain') { Author.where(id: 1).explain.lines.first.start_with?('EXPLAIN') }
step('advisory lock') { [connection.get_advisory_lock(5), connection.release_advisory_lock(5)] }
step('quoting') { [connection.quote("it's \\ ok"), Author.where(name: "it's \\ ok").count, connection.quote(Time.utc(2020)), connection.quote_table_name('a.b')] }
step('query cache') { Author.cache { Author.count; Author.count } }
step('async notify') { raw = connection.raw_connection; raw.exec('LISTEN c1'); raw.exec("NOTIFY c1, 'hi'"); got = raw.wait_for_notify(2); raw.exec('UNLISTEN c1'); got }
step('copy') { raw = connection.raw_connection; raw.copy_data('COPY tags (name) FROM STDIN') { raw.put_copy_data("from copy\n") }; rows = []; raw.copy_data("COPY (SELECT name FROM tags WHERE name = 'from copy') TO STDOUT") { while (row = raw.get_copy_data) do rows << row end }; rows }
step('destroy') { a = Author.find_by(name: 'Zed') || Author.first; [a.destroy.destroyed?, Book.count] }
step('delete') { [Author.where(name: 'kept').delete_all, Author.where(name: 'ser').destroy_all.size, Author.delete_by(name: 'foc')] }
step('truncate') { connection.truncate_tables('books', 'books_tags'); Book.count }
step('reset sequence') { connection.reset_pk_sequence!('authors'); Author.create!(name: 'next').id > 0 }
step('disable integrity') { connection.disable_referential_integrity { Book.insert({ author_id: 424242, title: 'x', created_at: Time.now, updated_at: Time.now }) }; Book.count }
step('extensions') { [connection.extension_enabled?('pgcrypto'), connection.extensions.include?('pgcrypto'), connection.supports_explain?, connection.database_version > 90300] }
step('views') { connection.views }
step('encoding') { [connection.encoding, connection.collation.class.name, connection.ctype.class.name, connection.current_schema, connection.client_min_messages] }
step('schemas') { connection.create_schema('other'); connection.execute('CREATE TABLE other.t (id int PRIMARY KEY)'); r = [connection.schema_names.include?('other'), connection.table_exists?('other.t')]; connection.drop_schema('other'); r }
step('sequences') { connection.serial_sequence('authors', 'id') }
step('prepared under change') { 6.times { Author.where(name: 'next').to_a }; connection.add_column(:authors, :extra, :integer); Author.where(name: 'next').to_a.size }
step('undone') { Chain.run(4, Besides, :down) }
step('threads') { 4.times.map { Thread.new { ActiveRecord::Base.connection_pool.with_connection { |c| c.select_value('SELECT 7') } } }.map(&:value) }
step('dropped connection') { ActiveRecord::Base.connection.disconnect!; ActiveRecord::Base.connection.reconnect!; ActiveRecord::Base.connection.active? }
