"""The sandbox: a Job becomes an Outcome, and nothing else happens.

In: a Job (a program, who asks it, its limits).  Out: an Outcome (facts: report, exit, times, memory).
Refuses: to know what "pass" means; to drop a layer of isolation without saying so.

Theory of operation
-------------------
Three parties::

    supervisor ──> fork server ──> referee zygote ──forks──> referee   runs the problem's prompt and tests
                        │                                       │ calls: tagged plain data, bounded, no pickle
                        └────────> jail zygote ─────forks──> jail      runs one sample, answers calls

* The supervisor (``pool``, ``worker`` and what they import) owns results and deadlines.  It never runs tests or
  samples.  Each worker has a zygote of each kind.
* The fork server (``zygote.forkserver``) is a clean interpreter with an environment of its own.  Zygotes are its forks.
* A zygote (``zygote.server``) builds its walls once (``layers``), then has a child forked for each job.  It is process
  1 of its own process namespace: nothing inside can kill it, and it kills everything inside when a job ends.
* The jail is a process that never held a test.  All it can contribute is plain data.
* The referee has the same walls: a downloaded data set is not trusted with the host either.

A job runs in one of two ways.  ``kept_runner`` sends it to two processes that wait for jobs and are rewound or replaced
after each; the supervisor forwards their calls.  ``oneshot_runner`` has two new processes forked for it, with a new
socket between them, so that no sample can leave bytes behind for the next.  A job that kept processes do not answer
exactly as expected is repeated in new ones.

Files that run under the interpreter of the samples, which may be older than ours, import the standard library and each
other only: those in ``zygote`` and ``layers``.
"""
