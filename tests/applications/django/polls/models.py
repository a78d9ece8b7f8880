"""Questions, their choices, and tags of these."""

from django.db import models
from django.db.models.functions import Lower


class Question(models.Model):
    question_text = models.CharField(max_length=200)
    pub_date = models.DateTimeField("date published")
    slug = models.SlugField(unique=True, null=True)
    meta = models.JSONField(default=dict)

    class Meta:
        indexes = [models.Index(Lower("question_text"), name="q_lower"), models.Index(fields=["-pub_date"], name="q_pub")]
        constraints = [models.UniqueConstraint(Lower("slug"), name="q_slug_ci"), models.CheckConstraint(condition=~models.Q(question_text=""), name="q_nonempty"),
          models.UniqueConstraint(fields=["question_text"], condition=models.Q(slug__isnull=False), name="q_text_when_slug")]


class Choice(models.Model):
    question = models.ForeignKey(Question, on_delete=models.CASCADE)
    choice_text = models.CharField(max_length=200)
    votes = models.IntegerField(default=0)
    tags = models.ManyToManyField("Tag")


class Tag(models.Model):
    name = models.CharField(max_length=50, unique=True)
