"""What the application does with its models, by the ORM and the admin."""

from django.contrib.auth.models import User
from django.db import IntegrityError, connection, transaction
from django.db.models import Avg, Count, Exists, F, OuterRef, Subquery, Sum, Window
from django.db.models.functions import Rank, TruncDay
from django.test import TestCase, TransactionTestCase
from django.utils import timezone

from .models import Choice, Question, Tag


class Polls(TestCase):
    def setUp(self):
        self.q = Question.objects.create(question_text="Hi", pub_date=timezone.now(), slug="Hi", meta={"a": [1,2]})
        for i in range(3):
            c = Choice.objects.create(question=self.q, choice_text=f"c{i}", votes=i)
            t, _ = Tag.objects.get_or_create(name=f"t{i%2}")
            c.tags.add(t)

    def test_agg(self):
        self.assertEqual(Question.objects.annotate(n=Count("choice"), s=Sum("choice__votes")).values_list("n","s")[0], (3,3))
        self.assertEqual(list(Choice.objects.values("tags__name").annotate(n=Count("id")).order_by("tags__name").values_list("n", flat=True)), [2,1])

    def test_f(self):
        Choice.objects.update(votes=F("votes")+1)
        self.assertEqual(Choice.objects.aggregate(s=Sum("votes"), a=Avg("votes"))["s"], 6)

    def test_json(self):
        self.assertEqual(Question.objects.filter(meta__a__0=1).count(), 1)
        self.assertEqual(Question.objects.filter(meta__has_key="a").count(), 1)
        self.assertEqual(Question.objects.filter(meta__contains={"a":[1]}).count(), 1)

    def test_unique(self):
        with self.assertRaises(IntegrityError), transaction.atomic():
            Question.objects.create(question_text="x", pub_date=timezone.now(), slug="hI")
        with self.assertRaises(IntegrityError), transaction.atomic():
            Question.objects.create(question_text="", pub_date=timezone.now())
        with self.assertRaises(IntegrityError), transaction.atomic():
            Question.objects.create(question_text="Hi", pub_date=timezone.now(), slug="other")
        Question.objects.create(question_text="Hi", pub_date=timezone.now())

    def test_sub(self):
        best = Choice.objects.filter(question=OuterRef("pk")).order_by("-votes").values("choice_text")[:1]
        self.assertEqual(Question.objects.annotate(b=Subquery(best)).get().b, "c2")
        self.assertEqual(Question.objects.filter(Exists(Choice.objects.filter(question=OuterRef("pk"), votes__gt=1))).count(), 1)

    def test_window(self):
        r = Choice.objects.annotate(r=Window(Rank(), order_by=F("votes").desc())).order_by("r").values_list("r", flat=True)
        self.assertEqual(list(r), [1,2,3])

    def test_bulk(self):
        Tag.objects.bulk_create([Tag(name="t0"), Tag(name="new")], ignore_conflicts=True)
        self.assertEqual(Tag.objects.count(), 3)
        Tag.objects.bulk_create([Tag(name="t0")], update_conflicts=True, unique_fields=["name"], update_fields=["name"])
        Choice.objects.bulk_update([Choice(id=c.id, votes=9) for c in Choice.objects.all()], ["votes"])

    def test_misc(self):
        self.assertEqual(Question.objects.filter(question_text__iexact="hI").count(), 1)
        self.assertEqual(Question.objects.filter(question_text__icontains="h").exclude(slug=None).count(), 1)
        self.assertEqual(len(Question.objects.annotate(d=TruncDay("pub_date")).values("d").annotate(n=Count("id"))), 1)
        self.assertEqual(Choice.objects.select_related("question").prefetch_related("tags").filter(question__slug="Hi").order_by("?").count(), 3)
        with transaction.atomic():
            Choice.objects.select_for_update(skip_locked=True).first()
            Choice.objects.select_for_update(of=("self",)).select_related("question").first()
        self.assertEqual(len(list(Choice.objects.iterator(chunk_size=2))), 3)
        self.assertEqual(Choice.objects.in_bulk().__len__(), 3)
        self.assertEqual(Choice.objects.values("question__slug").union(Tag.objects.values("name")).count(), 3)
        Choice.objects.filter(tags__name="t1").delete()
        self.assertEqual(Choice.objects.count(), 2)
        self.assertIn("polls_choice", connection.introspection.table_names())

    def test_admin(self):
        User.objects.create_superuser("a", "a@b.c", "pw")
        self.assertTrue(self.client.login(username="a", password="pw"))
        self.assertEqual(self.client.get("/admin/").status_code, 200)
        self.assertEqual(self.client.get("/admin/auth/user/").status_code, 200)
        self.assertEqual(self.client.get("/admin/auth/user/?q=a").status_code, 200)


class Deferred(TransactionTestCase):
    def test_defer(self):
        with self.assertRaises(IntegrityError):
            with transaction.atomic():
                Choice.objects.create(question_id=999, choice_text="x")
        with transaction.atomic():
            c = Choice.objects.create(question_id=998, choice_text="x")
            Question.objects.create(id=998, question_text="late", pub_date=timezone.now())
