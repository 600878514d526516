"""The sandbox: a Job becomes an Outcome, and nothing else happens.

In: a Job (a program, who asks it, its limits).  Out: an Outcome (facts: report, exit, times, memory).
Refuses: to know what "pass" means; to drop a layer of isolation without saying so.

Theory of operation
-------------------
Three parties::

    supervisor ──starts──> referee zygote ──forks──> referee   runs the problem's prompt and tests, never the sample
        │                                              │ calls: tagged plain data, bounded, no pickle
        └────────starts──> jail zygote ────forks──> jail       runs one sample, answers calls

* The supervisor (``pool``, ``worker``) owns results and deadlines.  It never runs tests or samples.
* A zygote (``zygote``) is a clean interpreter, exec'd with an empty environment, that builds its walls once
  (``layers``) and then forks a child for each order.  It is process 1 of its own process namespace, so that
  nothing inside can kill it, and it kills everything inside when an order ends.
* The jail (``inside``) is a fork of a zygote that never held a test.  All it can contribute is plain data.
* The referee is jailed in the same way: a downloaded data set is not trusted with the host either.

Both ends of the line between referee and jail are made by the supervisor, new for each sample, so that no sample
can leave bytes behind for the next.  Trust falls inwards: pool > zygote > inside.  ``kernel``, ``layers``, ``wire``,
``raised``, ``inside`` and ``zygote`` import nothing outside the standard library and each other; they run under the
interpreter of the samples, which may be older than ours.
"""
