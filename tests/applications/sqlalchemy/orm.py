"""SQLAlchemy's ORM and alembic, by one driver: `orm.py URL`. What fails is an exception."""

import datetime
import decimal
import enum
import sys
import uuid

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy import (
    CheckConstraint, Column, Computed, DateTime, ForeignKey, Identity, Index, MetaData, Numeric, String, Table,
    Text, create_engine, delete, func, inspect, select, text, update,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB, insert
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, joinedload, mapped_column, relationship, selectinload


class Base(DeclarativeBase):
    pass


class Kind(enum.Enum):
    reader = "reader"
    writer = "writer"


user_tags = Table(
    "user_tags",
    Base.metadata,
    Column("user_id", ForeignKey("users.id", ondelete="CASCADE"), primary_key=True),
    Column("tag_id", ForeignKey("tags.id"), primary_key=True),
)


class User(Base):
    __tablename__ = "users"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(50))
    kind: Mapped[Kind]
    data: Mapped[dict] = mapped_column(JSONB, default=dict)
    labels: Mapped[list[str]] = mapped_column(ARRAY(String), server_default="{}")
    uid: Mapped[uuid.UUID] = mapped_column(default=uuid.uuid4)
    amount: Mapped[decimal.Decimal] = mapped_column(Numeric(10, 2), default=0)
    created: Mapped[datetime.datetime] = mapped_column(DateTime(timezone=True), server_default=func.now())
    parent_id: Mapped[int | None] = mapped_column(ForeignKey("users.id", deferrable=True, initially="DEFERRED"))
    posts: Mapped[list["Post"]] = relationship(back_populates="user", cascade="all, delete-orphan")
    tags: Mapped[list["Tag"]] = relationship(secondary=user_tags)
    __table_args__ = (
        Index("users_lower_name", func.lower(text("name")), unique=True),
        Index("users_writers", "name", postgresql_where=text("kind = 'writer'")),
        CheckConstraint("amount >= 0", name="users_amount"),
    )


class Post(Base):
    __tablename__ = "posts"
    id: Mapped[int] = mapped_column(Identity(), primary_key=True)
    title: Mapped[str]
    title_length: Mapped[int] = mapped_column(Computed("length(title)", persisted=True))
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id"))
    user: Mapped[User] = relationship(back_populates="posts")


class Tag(Base):
    __tablename__ = "tags"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(unique=True)


def write_and_read(session):
    posts = [Post(title="one"), Post(title="three")]
    ann = User(
        name="Ann", kind=Kind.writer, data={"x": [1, 2]}, labels=["p", "q"], amount=decimal.Decimal("1.50"),
        posts=posts, tags=[Tag(name="t1")],
    )
    session.add(ann)
    session.add_all([User(name=f"u{number}", kind=Kind.reader) for number in range(5)])
    session.commit()
    by_name = select(User).where(func.lower(User.name) == "ann")
    found = session.scalars(by_name.options(selectinload(User.posts), joinedload(User.tags))).unique().one()
    assert [post.title_length for post in found.posts] == [3, 5]
    assert found.tags[0].name == "t1" and found.kind == Kind.writer
    assert found.data == {"x": [1, 2]} and found.labels == ["p", "q"]
    for condition in [User.labels.contains(["p"]), User.data["x"][0].astext == "1", User.kind == Kind.writer]:
        assert session.scalar(select(func.count()).select_from(User).where(condition)) == 1, condition
    numbered = select(User.id, func.row_number().over(order_by=User.name).label("row")).cte("numbered")
    assert len(session.execute(select(numbered).where(numbered.c.row <= 3)).all()) == 3
    assert len(list(session.scalars(select(User).execution_options(yield_per=2)))) == 6


def conflicts(session):
    tags = insert(Tag).values([{"name": "t1"}, {"name": "t2"}])
    session.execute(tags.on_conflict_do_nothing(index_elements=["name"]).returning(Tag.id))
    user = insert(User).values(name="ANN", kind=Kind.writer)
    by_lower_name = [func.lower(text("name"))]
    session.execute(user.on_conflict_do_update(index_elements=by_lower_name, set_={"amount": 5}))
    session.commit()
    assert session.scalar(select(User.amount).where(User.name == "Ann")) == 5
    session.add(User(name="ann", kind=Kind.reader))
    try:
        session.commit()
        raise AssertionError("a duplicate was taken")
    except IntegrityError:
        session.rollback()
    with session.begin_nested():
        session.add(Tag(name="once"))
    try:
        with session.begin_nested():
            session.add(Tag(name="once"))
        raise AssertionError("a duplicate was taken")
    except IntegrityError:
        pass
    session.commit()
    assert session.scalar(select(func.count()).select_from(Tag).where(Tag.name == "once")) == 1


def change(session):
    session.execute(update(User).where(User.kind == Kind.reader).values(amount=User.amount + 1))
    session.execute(delete(User).where(User.name == "u4"))
    session.commit()
    session.delete(session.scalars(select(User).where(User.name == "Ann")).one())
    session.commit()
    assert session.scalar(select(func.count()).select_from(Post)) == 0


def reflect(engine):
    found = inspect(engine)
    assert set(Base.metadata.tables) <= set(found.get_table_names())
    assert {index["name"] for index in found.get_indexes("users")} == {"users_lower_name", "users_writers"}
    assert found.get_foreign_keys("users")[0]["options"]["deferrable"]
    assert found.get_check_constraints("users")[0]["name"] == "users_amount"
    assert found.get_pk_constraint("users")["constrained_columns"] == ["id"]
    MetaData().reflect(engine)


def is_ours(_object, name, kind, _reflected, _compare_to):
    return kind != "table" or name in Base.metadata.tables


def migrate(engine):
    with engine.connect() as connection:
        options = {"compare_type": True, "compare_server_default": True, "include_object": is_ours}
        context = MigrationContext.configure(connection, opts=options)
        difference = compare_metadata(context, Base.metadata)
        assert not difference, difference
        op = Operations(context)
        op.add_column("tags", Column("color", String(10), nullable=False, server_default="red"))
        op.alter_column("tags", "color", type_=Text(), nullable=True, server_default=None)
        op.create_index("tags_color", "tags", ["color"])
        op.create_check_constraint("tags_has_color", "tags", "color <> ''")
        op.create_unique_constraint("tags_name_color", "tags", ["name", "color"])
        op.drop_constraint("tags_has_color", "tags")
        op.drop_index("tags_color")
        op.rename_table("tags", "labels")
        op.alter_column("labels", "color", new_column_name="colour")
        op.drop_column("labels", "colour")
        op.rename_table("labels", "tags")
        connection.commit()


engine = create_engine(sys.argv[1])
Base.metadata.drop_all(engine)
Base.metadata.create_all(engine)
for steps in [write_and_read, conflicts, change]:
    with Session(engine) as opened:
        steps(opened)
reflect(engine)
migrate(engine)
Base.metadata.drop_all(engine)
