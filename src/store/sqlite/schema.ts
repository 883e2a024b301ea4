/**
 * Defines the tables of version 1 on SQLite, which do not change; later versions are steps from it (`../versions/steps.ts`).
 *
 * What determines the design: a page of entries belongs to one stream and covers a span of time. Rows are appended as
 * they arrive. The keys that tell what is new begin with the stream and then the time, so a page of entries touches
 * few pages of the file, whether it is today's or part of a history that many streams read in parallel. With a random
 * id as key, each row would cost a page write.
 *
 * Instants are microseconds since 1970, in columns that end in `_us`; 0 means never, unless stated otherwise. A
 * `body` is the whole record as JSON; the fields used in queries have columns of their own beside it.
 */
/** Regions, Nests and Birds, and what was read of them. */
const WATCHED = `
  -- A region that was ever watched, and since when.
  CREATE TABLE region (
    region TEXT PRIMARY KEY,
    since_us INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  -- A region that anybody ever tried to read, whether or not it answered, and since when by our own clock.
  CREATE TABLE region_start (
    region TEXT PRIMARY KEY,
    first_us INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  -- The request rate that a region was seen to bear, for the next start.
  CREATE TABLE region_rate (
    region TEXT PRIMARY KEY,
    per_second REAL NOT NULL,
    kept_us INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  -- A Nest as last listed.
  CREATE TABLE nest (
    region TEXT NOT NULL,
    nest_id TEXT NOT NULL,
    name TEXT NOT NULL,
    -- The name as it is searched: in lower case (foldedText).
    folded TEXT NOT NULL,
    -- 0 once a reading no longer listed it; that was at gone_us.
    present INTEGER NOT NULL,
    gone_us INTEGER NOT NULL,
    PRIMARY KEY (region, nest_id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX nest_gone ON nest (gone_us) WHERE present = 0;

  -- How the Flights of a Nest ended within an hour, counted; hours are numbered from 1970.
  CREATE TABLE nest_hour (
    region TEXT NOT NULL,
    nest_id TEXT NOT NULL,
    hour INTEGER NOT NULL,
    succeeded INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    PRIMARY KEY (region, nest_id, hour)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX nest_hour_by_age ON nest_hour (hour);

  -- The mail addresses of a Nest's active members, a JSON list.
  CREATE TABLE nest_members (
    region TEXT NOT NULL,
    nest_id TEXT NOT NULL,
    addresses TEXT NOT NULL,
    PRIMARY KEY (region, nest_id)
  ) STRICT, WITHOUT ROWID;

  -- A Bird as last listed.
  CREATE TABLE bird (
    region TEXT NOT NULL,
    bird_id TEXT NOT NULL,
    nest_id TEXT NOT NULL,
    name TEXT NOT NULL,
    -- The name as it is searched: in lower case (foldedText).
    folded TEXT NOT NULL,
    status TEXT NOT NULL,
    trigger_type TEXT NOT NULL,
    -- 0 once a reading no longer listed it; that was at gone_us.
    present INTEGER NOT NULL,
    gone_us INTEGER NOT NULL,
    status_since_us INTEGER NOT NULL,
    -- 1 while the status is still that of the first reading.
    first_status INTEGER NOT NULL,
    -- Since when its events are news, if it came later than its region was watched; else 0. While the configuration
    -- excludes its Nest, the largest integer that is exact.
    news_since_us INTEGER NOT NULL,
    -- When it is next judged whether the Bird has flown recently enough.
    judge_us INTEGER NOT NULL DEFAULT 0,
    -- The Flight that started last, as last seen; kept here so that a list of Birds need not look it up.
    last_us INTEGER NOT NULL DEFAULT 0,
    last_flight TEXT NOT NULL DEFAULT '',
    last_status TEXT NOT NULL DEFAULT '',
    -- How the last Flight that failed or succeeded ended, and when it started.
    outcome TEXT NOT NULL DEFAULT '',
    outcome_us INTEGER NOT NULL DEFAULT 0,
    -- How many alerts about it fire.
    firing INTEGER NOT NULL DEFAULT 0,
    -- 3: an alert fires, 2: its last Flight failed, 1: it is switched off, 0: none of these.
    trouble INTEGER NOT NULL GENERATED ALWAYS AS (
      CASE WHEN firing > 0 THEN 3 WHEN status = 'suspended' THEN 1 WHEN outcome = 'failed' THEN 2 ELSE 0 END
    ) VIRTUAL,
    PRIMARY KEY (region, bird_id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX bird_gone ON bird (gone_us) WHERE present = 0;
  CREATE INDEX bird_of_nest ON bird (region, nest_id);
  CREATE INDEX bird_judged ON bird (judge_us) WHERE present = 1 AND status = 'active';
  CREATE INDEX bird_by_trouble ON bird (trouble, last_us, region, bird_id) WHERE present = 1;

  -- One feed of a region (bird_id empty) or of a Bird, and how far it was read. AUTOINCREMENT: numbers are never
  -- reused.
  CREATE TABLE stream (
    stream INTEGER PRIMARY KEY AUTOINCREMENT,
    region TEXT NOT NULL,
    feed TEXT NOT NULL,
    bird_id TEXT NOT NULL,
    cursor_us INTEGER NOT NULL,
    -- Until when retention has deleted what was read: read again, it would count as new.
    pruned_us INTEGER NOT NULL DEFAULT 0,
    UNIQUE (region, feed, bird_id)
  ) STRICT;

  -- A feed of a region, or its inventory, and by when all of its streams had been read, as of the last record.
  CREATE TABLE feed_read (
    region TEXT NOT NULL,
    feed TEXT NOT NULL,
    read_us INTEGER NOT NULL,
    PRIMARY KEY (region, feed)
  ) STRICT, WITHOUT ROWID;

  -- How far a backfill of a stream has come.
  CREATE TABLE backfill (
    stream INTEGER PRIMARY KEY,
    from_us INTEGER NOT NULL,
    until_us INTEGER NOT NULL
  ) STRICT;

  -- The results of the last audits of a stream.
  CREATE TABLE audit (
    stream INTEGER PRIMARY KEY,
    body TEXT NOT NULL
  ) STRICT;

  -- An entry that could not be parsed. For a stream's older entries only the hash is kept, and raw is empty.
  CREATE TABLE quarantine (
    entry INTEGER PRIMARY KEY,
    stream INTEGER NOT NULL,
    hash BLOB NOT NULL,
    kept_us INTEGER NOT NULL,
    reason TEXT NOT NULL,
    raw TEXT NOT NULL,
    UNIQUE (stream, hash)
  ) STRICT;
  CREATE INDEX quarantine_by_age ON quarantine (kept_us);
  CREATE INDEX quarantine_of_stream ON quarantine (stream, kept_us);

  -- An event. Events are numbered as they arrive, so that rows are only ever appended.
  CREATE TABLE event (
    event INTEGER PRIMARY KEY,
    stream INTEGER NOT NULL,
    occurred_us INTEGER NOT NULL,
    -- The last part of the key; region and feed are in the stream.
    id TEXT NOT NULL,
    type TEXT NOT NULL,
    observed_us INTEGER NOT NULL,
    message TEXT NOT NULL,
    -- The rest of the event, a JSON list: ids and names of its Nest and Bird, its attributes, and its instant as the
    -- service wrote it, if that says more than occurred_us. Binding all that as columns takes longer than writing the
    -- row.
    body TEXT NOT NULL
  ) STRICT;
  -- Tells what is new, answers queries about one stream, and finds an id, all without reading rows.
  CREATE UNIQUE INDEX event_of_stream ON event (stream, occurred_us, id);
  CREATE INDEX event_by_age ON event (occurred_us, stream);

  -- A Flight as last seen. Most queries about Flights concern one stream, so the stream comes first in the key.
  CREATE TABLE flight (
    stream INTEGER NOT NULL,
    started_us INTEGER NOT NULL,
    id TEXT NOT NULL,
    status TEXT NOT NULL,
    open INTEGER NOT NULL,
    -- How many ends were seen.
    ends INTEGER NOT NULL,
    -- When it ended; 0 if unknown.
    ended_us INTEGER NOT NULL,
    -- When it is next judged whether the Flight is taking too long.
    judge_us INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (stream, started_us, id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX flight_open ON flight (stream) WHERE open = 1;
  CREATE INDEX flight_ended ON flight (started_us) WHERE open = 0;
  CREATE INDEX flight_in_air ON flight (started_us, judge_us) WHERE open = 1;
  -- Includes the end, because every start asks when each Bird failed last.
  CREATE INDEX flight_failed ON flight (stream, started_us, ended_us) WHERE open = 0 AND status = 'failed';
  -- People look up a Flight by nothing but its id.
  CREATE INDEX flight_by_id ON flight (id);
`;

/** Alerts, the groups that notify of them, and what mutes them. */
const ALERTED = `
  -- An alert in its current state. Other tables refer to its number: random texts as keys would cost a page write
  -- each.
  CREATE TABLE alert (
    alert INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    region TEXT NOT NULL,
    scope TEXT NOT NULL,
    alertname TEXT NOT NULL,
    severity TEXT NOT NULL,
    -- The alert's label; empty for none.
    nest_id TEXT NOT NULL,
    state TEXT NOT NULL,
    -- 1 for an alert whose cause is over, but which fires on because it flaps.
    flaps_on INTEGER NOT NULL,
    starts_us INTEGER NOT NULL,
    -- When it ended; 0 unless it is resolved.
    ends_us INTEGER NOT NULL,
    -- When time alone may change it; null for never.
    due_us INTEGER,
    -- Columns by which people find it. 0: critical, 1: error, 2: warning, 3: any other severity.
    rank INTEGER NOT NULL,
    bird_id TEXT NOT NULL,
    -- Equal for alerts with the same cause.
    cause TEXT NOT NULL,
    -- Searched names and words in lower case (foldedText).
    nest TEXT NOT NULL,
    bird TEXT NOT NULL,
    words TEXT NOT NULL,
    body TEXT NOT NULL
  ) STRICT;
  CREATE INDEX alert_region ON alert (region, scope);
  CREATE INDEX alert_due ON alert (due_us) WHERE due_us IS NOT NULL;
  CREATE INDEX alert_state ON alert (state, starts_us);
  -- Every flush asks for alerts that may inhibit others, by name; metrics count by all columns.
  CREATE INDEX alert_firing ON alert (alertname, severity, region, nest_id) WHERE state = 'firing';

  -- An alert that waits to be routed. The position is the order of changes.
  CREATE TABLE changed_alert (
    position INTEGER PRIMARY KEY,
    alert INTEGER NOT NULL UNIQUE
  ) STRICT;

  -- A deleted alert, kept while a notification that lists it is kept. If the alert comes back, it gets its number
  -- again.
  CREATE TABLE former_alert (
    alert INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE
  ) STRICT;

  -- An event of an alert: its seq-th.
  CREATE TABLE alert_event (
    alert INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    event INTEGER NOT NULL,
    PRIMARY KEY (alert, seq)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX alert_event_event ON alert_event (event);

  -- An ended episode of an alert. The alert is deleted soon after its end; the episode stays for digests.
  CREATE TABLE episode (
    alert_id TEXT NOT NULL,
    starts_us INTEGER NOT NULL,
    -- When its end was seen.
    resolved_us INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (alert_id, starts_us)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX episode_by_age ON episode (resolved_us);

  -- A group of alerts that a receiver is notified of together. next_flush_us overrides the body, since it is changed
  -- alone.
  CREATE TABLE alert_group (
    alert_group INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    receiver TEXT NOT NULL,
    next_flush_us INTEGER NOT NULL,
    body TEXT NOT NULL
  ) STRICT;
  CREATE INDEX alert_group_due ON alert_group (next_flush_us);

  -- An alert in a group, and up to which event the group has notified of it.
  CREATE TABLE group_member (
    alert_group INTEGER NOT NULL,
    alert INTEGER NOT NULL,
    -- The sort of its group: route, escalation, fallback, held_back or catch_up.
    sort TEXT NOT NULL,
    notified_seq INTEGER NOT NULL,
    notified_state TEXT NOT NULL,
    PRIMARY KEY (alert_group, alert)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX group_member_alert ON group_member (alert);

  -- A silence, including expired ones.
  CREATE TABLE silence (
    id TEXT PRIMARY KEY,
    ends_us INTEGER NOT NULL,
    body TEXT NOT NULL
  ) STRICT;
  CREATE INDEX silence_by_end ON silence (ends_us, id);

  -- What a group does not notify its receiver of, and why.
  CREATE TABLE suppression (
    suppression INTEGER PRIMARY KEY,
    alert_id TEXT NOT NULL,
    after_seq INTEGER NOT NULL,
    last_seq INTEGER NOT NULL,
    group_key TEXT NOT NULL,
    receiver TEXT NOT NULL,
    reason TEXT NOT NULL,
    detail TEXT NOT NULL,
    at_us INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX suppression_alert ON suppression (alert_id);
  CREATE INDEX suppression_by_age ON suppression (at_us);

  -- An event that a suppression concerns.
  CREATE TABLE suppressed_event (
    event INTEGER NOT NULL,
    suppression INTEGER NOT NULL,
    PRIMARY KEY (event, suppression)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX suppressed_event_reason ON suppressed_event (suppression);

  -- A request over HTTP that was meant to change something: who made it, from where, for what, and how it ended.
  CREATE TABLE write_request (
    seq INTEGER PRIMARY KEY,
    at_us INTEGER NOT NULL,
    who TEXT NOT NULL,
    known_by TEXT NOT NULL,
    source TEXT NOT NULL,
    action TEXT NOT NULL,
    asked TEXT NOT NULL,
    status INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX write_request_by_age ON write_request (at_us);

  -- The progress of the digests of one name.
  CREATE TABLE digest (
    name TEXT PRIMARY KEY,
    body TEXT NOT NULL
  ) STRICT;
`;

/** Notifications on their way. */
const QUEUED = `
  -- An event that waits to be forwarded, as a whole, so that retention never deletes what is unsent.
  CREATE TABLE forward_queue (
    receiver TEXT NOT NULL,
    seq INTEGER NOT NULL,
    event TEXT NOT NULL,
    PRIMARY KEY (receiver, seq)
  ) STRICT, WITHOUT ROWID;

  -- How much of its cap a receiver has used recently.
  CREATE TABLE receiver_pace (
    receiver TEXT PRIMARY KEY,
    body TEXT NOT NULL
  ) STRICT;

  -- A message as it was queued for one or more deliveries.
  CREATE TABLE notification (
    seq INTEGER PRIMARY KEY,
    body TEXT NOT NULL
  ) STRICT;

  -- A notification on its way to one integration of one receiver. seq is the order of creation. turn is 1 if no
  -- earlier delivery of the same lane comes first; it is stored so that finding work never scans what waits behind
  -- something else.
  CREATE TABLE delivery (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    notification INTEGER NOT NULL,
    notification_id TEXT NOT NULL,
    receiver TEXT NOT NULL,
    integration TEXT NOT NULL,
    position INTEGER NOT NULL,
    lane TEXT NOT NULL,
    turn INTEGER NOT NULL,
    state TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    created_us INTEGER NOT NULL,
    next_attempt_us INTEGER NOT NULL,
    -- If it was refused, or the receiver asked to wait: it is not claimed before, even if others are accepted.
    not_before_us INTEGER NOT NULL DEFAULT 0,
    settled_us INTEGER NOT NULL,
    -- For people.
    last_error TEXT NOT NULL,
    -- How many of its attempts were cut off by the end of the process; their outcome is unknown.
    cut_off INTEGER NOT NULL DEFAULT 0,
    -- How many attempts in a row were refused up to now.
    refusals INTEGER NOT NULL DEFAULT 0,
    -- Recipients that refused it for good, each with the receiver's answer; for people.
    refused_by TEXT NOT NULL DEFAULT '',
    -- If some of several recipients have accepted it: those still to be reached, a JSON list. Empty means all.
    remaining TEXT NOT NULL DEFAULT '',
    -- The id by which the service that accepted it knows the message; empty if it gave none.
    reference TEXT NOT NULL DEFAULT '',
    -- When it is sent to its receiver's fallback; null for never, and once that is done.
    fallback_us INTEGER,
    -- The replica that sends it, while it is leased; 0 if the process has its own store.
    holder INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE INDEX delivery_waiting ON delivery (receiver, position, next_attempt_us)
    WHERE turn = 1 AND state IN ('pending', 'retry', 'ambiguous');
  CREATE INDEX delivery_lane ON delivery (receiver, position, lane, turn)
    WHERE lane <> '' AND state IN ('pending', 'leased', 'retry', 'ambiguous');
  CREATE INDEX delivery_reference ON delivery (receiver, position, lane, seq) WHERE reference <> '';
  CREATE INDEX delivery_undelivered ON delivery (state) WHERE state <> 'delivered';
  CREATE INDEX delivery_settled ON delivery (settled_us) WHERE settled_us > 0;
  CREATE INDEX delivery_notification ON delivery (notification);
  CREATE INDEX delivery_fallback ON delivery (fallback_us) WHERE fallback_us IS NOT NULL;

  -- How many deliveries a receiver has in a state: counting a million rows would block everything else. Processes
  -- that share a store on a server each have their own part.
  CREATE TABLE delivery_count (
    receiver TEXT NOT NULL,
    state TEXT NOT NULL,
    part INTEGER NOT NULL DEFAULT 0,
    count INTEGER NOT NULL,
    PRIMARY KEY (receiver, state, part)
  ) STRICT, WITHOUT ROWID;

  -- An integration that accepts nothing, with its attempts that failed in a row; one that accepts has no row.
  CREATE TABLE failing_integration (
    receiver TEXT NOT NULL,
    position INTEGER NOT NULL,
    integration TEXT NOT NULL,
    failures INTEGER NOT NULL,
    since_us INTEGER NOT NULL,
    last_error TEXT NOT NULL,
    PRIMARY KEY (receiver, position, integration)
  ) STRICT, WITHOUT ROWID;

  -- An event that a group's notification covers. It is rarely looked up, so the row is kept small.
  CREATE TABLE notified_event (
    event INTEGER NOT NULL,
    notification INTEGER NOT NULL,
    PRIMARY KEY (event, notification)
  ) STRICT, WITHOUT ROWID;

  -- An alert that a group's notification lists. The row outlives the alert, by means of former_alert.
  CREATE TABLE notified_alert (
    alert INTEGER NOT NULL,
    notification INTEGER NOT NULL,
    PRIMARY KEY (alert, notification)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX notified_alert_of ON notified_alert (notification);

  -- A batch of events that was forwarded to a receiver, found by its first event.
  CREATE TABLE forwarded_batch (
    first_event INTEGER NOT NULL,
    receiver TEXT NOT NULL,
    notification INTEGER NOT NULL,
    PRIMARY KEY (first_event, receiver)
  ) STRICT, WITHOUT ROWID;

  -- A key for signatures, created by nestwatch itself and useless outside of it.
  CREATE TABLE signing_key (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
  ) STRICT;
`;

/** Which replica does what, if several share the store. */
const OWNED = `
  -- One run of a process. AUTOINCREMENT: numbers are never reused.
  CREATE TABLE replica (
    replica INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    version TEXT NOT NULL,
    started_us INTEGER NOT NULL,
    -- From then on it may be removed, unless it renews.
    expires_us INTEGER NOT NULL,
    -- 1 if it is about to end.
    leaving INTEGER NOT NULL,
    -- By how much its own clock is ahead of the store's.
    clock_ahead_us INTEGER NOT NULL DEFAULT 0,
    -- If it refused its configuration file: the number of mistakes, the first, and since when. 0 if not.
    mistakes INTEGER NOT NULL DEFAULT 0,
    first_mistake TEXT NOT NULL DEFAULT '',
    refused_us INTEGER NOT NULL DEFAULT 0,
    -- The digest of the configuration in force, and since when; empty if unknown.
    config TEXT NOT NULL DEFAULT '',
    config_us INTEGER NOT NULL DEFAULT 0,
    -- The names of its regions, as JSON; empty if unknown.
    config_regions TEXT NOT NULL DEFAULT '',
    -- When another replica took over a region that this one could not reach; 0 for never.
    relieved_us INTEGER NOT NULL DEFAULT 0,
    -- The store's recent response time.
    turn_ms INTEGER NOT NULL DEFAULT 0
  ) STRICT;

  -- What one replica does at a time. The epoch grows each time the duty changes its owner.
  CREATE TABLE duty (
    duty TEXT PRIMARY KEY,
    -- 0 for none.
    owner INTEGER NOT NULL DEFAULT 0,
    epoch INTEGER NOT NULL DEFAULT 0,
    since_us INTEGER NOT NULL DEFAULT 0,
    weight REAL NOT NULL DEFAULT 0,
    -- Its state as the owner reported it, JSON; empty for none.
    shown TEXT NOT NULL DEFAULT '',
    shown_us INTEGER NOT NULL DEFAULT 0,
    -- For alerting: the store's clock when it was last recorded.
    clock_us INTEGER NOT NULL DEFAULT 0
  ) STRICT;
`;

/** What nestwatch found wrong with its own work. */
const UPKEEP = `
  -- What was set aside because it failed. again_us: when it is tried again; 0 for never by itself.
  CREATE TABLE fault (
    sort TEXT NOT NULL,
    name TEXT NOT NULL,
    reason TEXT NOT NULL,
    since_us INTEGER NOT NULL,
    seen_us INTEGER NOT NULL,
    again_us INTEGER NOT NULL,
    -- For a row: the beginning of its content.
    raw TEXT NOT NULL,
    PRIMARY KEY (sort, name)
  ) STRICT, WITHOUT ROWID;
`;

export const SCHEMA = `${WATCHED}${ALERTED}${QUEUED}${OWNED}${UPKEEP}`;
