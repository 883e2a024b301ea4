/**
 * The tables, as 0.1.0 has them: `PRAGMA user_version` 1. A later version of the schema is led to by steps from this
 * one, which stays as it is once it is released.
 *
 * What decides the shape: a page of entries belongs to one stream and covers a stretch of time. The rows are appended
 * as they arrive, and the keys that say what is new begin with the stream and then the time, so that a page touches
 * few pages of the file, whether it is today's or history that many streams read side by side. A random id as the
 * key would cost a page write per row.
 *
 * Instants are microseconds since 1970, in columns that end in `_us`; 0 is never, unless said otherwise. A `body` is
 * the whole record as JSON; beside it stand the fields that are asked for.
 */
export const SCHEMA_VERSION = 1;

/** Regions, Nests and Birds, and what was read of them. */
const WATCHED = `
  -- A region that was ever watched, and since when.
  CREATE TABLE region (
    region TEXT PRIMARY KEY,
    since_us INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  -- A region that somebody ever wanted to read, and since when on our own clock, whether or not it answered.
  CREATE TABLE region_start (
    region TEXT PRIMARY KEY,
    first_us INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  -- The requests a second that a region was seen to bear, for the next life.
  CREATE TABLE region_rate (
    region TEXT PRIMARY KEY,
    per_second REAL NOT NULL,
    kept_us INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  -- A Nest as it was last listed.
  CREATE TABLE nest (
    region TEXT NOT NULL,
    nest_id TEXT NOT NULL,
    name TEXT NOT NULL,
    -- The name as it is searched for: letters of any case are one.
    folded TEXT NOT NULL,
    -- 0 from the reading on that no longer listed it, which was at gone_us.
    present INTEGER NOT NULL,
    gone_us INTEGER NOT NULL,
    PRIMARY KEY (region, nest_id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX nest_gone ON nest (gone_us) WHERE present = 0;

  -- How many Flights of a Nest ended in an hour, numbered from 1970 on, by how they ended.
  CREATE TABLE nest_hour (
    region TEXT NOT NULL,
    nest_id TEXT NOT NULL,
    hour INTEGER NOT NULL,
    succeeded INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    PRIMARY KEY (region, nest_id, hour)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX nest_hour_by_age ON nest_hour (hour);

  -- The mail addresses of a Nest's active members, a list in JSON.
  CREATE TABLE nest_members (
    region TEXT NOT NULL,
    nest_id TEXT NOT NULL,
    addresses TEXT NOT NULL,
    PRIMARY KEY (region, nest_id)
  ) STRICT, WITHOUT ROWID;

  -- A Bird as it was last listed.
  CREATE TABLE bird (
    region TEXT NOT NULL,
    bird_id TEXT NOT NULL,
    nest_id TEXT NOT NULL,
    name TEXT NOT NULL,
    -- The name as it is searched for: letters of any case are one.
    folded TEXT NOT NULL,
    status TEXT NOT NULL,
    trigger_type TEXT NOT NULL,
    -- 0 from the reading on that no longer listed it, which was at gone_us.
    present INTEGER NOT NULL,
    gone_us INTEGER NOT NULL,
    status_since_us INTEGER NOT NULL,
    -- 1 while the status is that of the first reading.
    first_status INTEGER NOT NULL,
    -- When it is next judged whether it has flown lately enough.
    judge_us INTEGER NOT NULL DEFAULT 0,
    -- The Flight that started last, as it was last seen; kept here so that a list of Birds need not look for it.
    last_us INTEGER NOT NULL DEFAULT 0,
    last_flight TEXT NOT NULL DEFAULT '',
    last_status TEXT NOT NULL DEFAULT '',
    -- How the last one ended that failed or succeeded, and when it started.
    outcome TEXT NOT NULL DEFAULT '',
    outcome_us INTEGER NOT NULL DEFAULT 0,
    -- How many alerts about it fire.
    firing INTEGER NOT NULL DEFAULT 0,
    -- 3: an alert fires, 2: its last Flight failed, 1: it is switched off, 0: none of that.
    trouble INTEGER NOT NULL GENERATED ALWAYS AS (
      CASE WHEN firing > 0 THEN 3 WHEN status = 'suspended' THEN 1 WHEN outcome = 'failed' THEN 2 ELSE 0 END
    ) VIRTUAL,
    PRIMARY KEY (region, bird_id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX bird_gone ON bird (gone_us) WHERE present = 0;
  CREATE INDEX bird_of_nest ON bird (region, nest_id);
  CREATE INDEX bird_judged ON bird (judge_us) WHERE present = 1 AND status = 'active';
  CREATE INDEX bird_by_trouble ON bird (trouble, last_us, region, bird_id) WHERE present = 1;

  -- One feed of a region (bird_id empty) or of a Bird, and how far it was read. AUTOINCREMENT: a number is never given
  -- twice.
  CREATE TABLE stream (
    stream INTEGER PRIMARY KEY AUTOINCREMENT,
    region TEXT NOT NULL,
    feed TEXT NOT NULL,
    bird_id TEXT NOT NULL,
    cursor_us INTEGER NOT NULL,
    -- Up to where retention has deleted what was read: read once more, it would be taken for new.
    pruned_us INTEGER NOT NULL DEFAULT 0,
    UNIQUE (region, feed, bird_id)
  ) STRICT;

  -- A feed of a region, or its inventory, and up to when all of its streams were read when that was last kept.
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

  -- What the last audits found out about a stream.
  CREATE TABLE audit (
    stream INTEGER PRIMARY KEY,
    body TEXT NOT NULL
  ) STRICT;

  -- An entry that could not be understood. Of the older ones of a stream only the hash is kept, and raw is empty.
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

  -- An event. They are numbered as they arrive, so that rows are only ever appended.
  CREATE TABLE event (
    event INTEGER PRIMARY KEY,
    stream INTEGER NOT NULL,
    occurred_us INTEGER NOT NULL,
    -- The last part of the key; region and feed are the stream's.
    id TEXT NOT NULL,
    type TEXT NOT NULL,
    observed_us INTEGER NOT NULL,
    message TEXT NOT NULL,
    -- What else is known of it, a list in JSON: the ids and names of its Nest and Bird, its attributes, and where it
    -- says more than occurred_us the instant as the service wrote it. To bind all that as columns takes longer than to
    -- write the row.
    body TEXT NOT NULL
  ) STRICT;
  -- Says what is new, answers what concerns one stream, and finds an id, all without reading rows.
  CREATE UNIQUE INDEX event_of_stream ON event (stream, occurred_us, id);
  CREATE INDEX event_by_age ON event (occurred_us, stream);

  -- A Flight as it was last seen. Every question about Flights concerns one stream, so the stream comes first here.
  CREATE TABLE flight (
    stream INTEGER NOT NULL,
    started_us INTEGER NOT NULL,
    id TEXT NOT NULL,
    status TEXT NOT NULL,
    open INTEGER NOT NULL,
    -- How often it was seen to end.
    ends INTEGER NOT NULL,
    -- When it ended; 0 where that is not known.
    ended_us INTEGER NOT NULL,
    -- When it is next judged whether it is in the air for too long.
    judge_us INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (stream, started_us, id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX flight_open ON flight (stream) WHERE open = 1;
  CREATE INDEX flight_ended ON flight (started_us) WHERE open = 0;
  CREATE INDEX flight_in_air ON flight (started_us, judge_us) WHERE open = 1;
  -- With their ends: when each Bird failed last is asked at every start.
  CREATE INDEX flight_failed ON flight (stream, started_us, ended_us) WHERE open = 0 AND status = 'failed';
  -- People come with nothing but the id of a Flight.
  CREATE INDEX flight_by_id ON flight (id);
`;

/** Alerts, the groups that notify of them, and what keeps them from it. */
const ALERTED = `
  -- An alert in its present state. Other tables name it by its number: random texts as keys would cost a page each.
  CREATE TABLE alert (
    alert INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    region TEXT NOT NULL,
    scope TEXT NOT NULL,
    alertname TEXT NOT NULL,
    severity TEXT NOT NULL,
    -- Its label; empty for none.
    nest_id TEXT NOT NULL,
    state TEXT NOT NULL,
    -- 1 for one that is over, and fires on because it flaps.
    flaps_on INTEGER NOT NULL,
    starts_us INTEGER NOT NULL,
    -- When it ended; 0 unless it is resolved.
    ends_us INTEGER NOT NULL,
    -- When time alone may change it; null for never.
    due_us INTEGER,
    -- What people look for it by. 0: critical, 1: error, 2: warning, 3: any other severity.
    rank INTEGER NOT NULL,
    bird_id TEXT NOT NULL,
    -- What those that have one cause share.
    cause TEXT NOT NULL,
    -- Names and words, each folded, so that letters of any case are one.
    nest TEXT NOT NULL,
    bird TEXT NOT NULL,
    words TEXT NOT NULL,
    body TEXT NOT NULL
  ) STRICT;
  CREATE INDEX alert_region ON alert (region, scope);
  CREATE INDEX alert_due ON alert (due_us) WHERE due_us IS NOT NULL;
  CREATE INDEX alert_state ON alert (state, starts_us);
  -- Alerts that may inhibit others are asked for at every flush, by their name; metrics count by all of it.
  CREATE INDEX alert_firing ON alert (alertname, severity, region, nest_id) WHERE state = 'firing';

  -- An alert that waits to be routed. They are in the order in which they changed.
  CREATE TABLE changed_alert (
    position INTEGER PRIMARY KEY,
    alert INTEGER NOT NULL UNIQUE
  ) STRICT;

  -- An alert that was deleted, while a notification that lists it is kept. If it comes back it has its number again.
  CREATE TABLE former_alert (
    alert INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE
  ) STRICT;

  -- An event of an alert: the seq-th of that alert.
  CREATE TABLE alert_event (
    alert INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    event INTEGER NOT NULL,
    PRIMARY KEY (alert, seq)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX alert_event_event ON alert_event (event);

  -- An episode of an alert that is over. The alert is deleted soon after its end; this stays for the digests.
  CREATE TABLE episode (
    alert_id TEXT NOT NULL,
    starts_us INTEGER NOT NULL,
    -- When it was seen to be over.
    resolved_us INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (alert_id, starts_us)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX episode_by_age ON episode (resolved_us);

  -- A group of alerts that are notified of together. next_flush_us overrules what the body says: it is moved by itself.
  CREATE TABLE alert_group (
    alert_group INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    receiver TEXT NOT NULL,
    next_flush_us INTEGER NOT NULL,
    body TEXT NOT NULL
  ) STRICT;
  CREATE INDEX alert_group_due ON alert_group (next_flush_us);

  -- An alert in a group, and up to where the group has notified of it.
  CREATE TABLE group_member (
    alert_group INTEGER NOT NULL,
    alert INTEGER NOT NULL,
    -- That of its group: route, escalation, held_back or catch_up.
    sort TEXT NOT NULL,
    notified_seq INTEGER NOT NULL,
    notified_state TEXT NOT NULL,
    PRIMARY KEY (alert_group, alert)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX group_member_alert ON group_member (alert);

  -- A silence, expired or not.
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

  -- A request over HTTP that was to change something: who asked, from where, for what, and how it ended.
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

  -- How far the digests of one name have come.
  CREATE TABLE digest (
    name TEXT PRIMARY KEY,
    body TEXT NOT NULL
  ) STRICT;
`;

/** Notifications on their way. */
const QUEUED = `
  -- An event that waits to be forwarded: whole, so that retention never takes what is unsent.
  CREATE TABLE forward_queue (
    receiver TEXT NOT NULL,
    seq INTEGER NOT NULL,
    event TEXT NOT NULL,
    PRIMARY KEY (receiver, seq)
  ) STRICT, WITHOUT ROWID;

  -- How much of its cap a receiver has used lately.
  CREATE TABLE receiver_pace (
    receiver TEXT PRIMARY KEY,
    body TEXT NOT NULL
  ) STRICT;

  -- A message, as it was queued for one or more deliveries.
  CREATE TABLE notification (
    seq INTEGER PRIMARY KEY,
    body TEXT NOT NULL
  ) STRICT;

  -- A notification on its way to one integration of one receiver. seq is the order of creation. turn is 1 where no
  -- earlier delivery of the same lane stands in the way: kept here so that finding work never walks over what waits
  -- behind something else.
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
    settled_us INTEGER NOT NULL,
    -- For people.
    last_error TEXT NOT NULL,
    -- How many of its tries ended with the process: nobody knows what came of them.
    cut_off INTEGER NOT NULL DEFAULT 0,
    -- How many of its last tries in a row were refused.
    refusals INTEGER NOT NULL DEFAULT 0,
    -- Who of several recipients refused it for good, each with the receiver's words; for people.
    refused_by TEXT NOT NULL DEFAULT '',
    -- Who of several recipients is still to be reached, a list in JSON; empty for all.
    remaining TEXT NOT NULL DEFAULT '',
    -- How the service that has accepted it calls the message; empty where it does not say.
    reference TEXT NOT NULL DEFAULT '',
    -- When it is given to its receiver's fallback; null for never, and once that is done.
    fallback_us INTEGER,
    -- The replica that sends it, of a leased one; 0 where a process has the store to itself.
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

  -- How many deliveries a receiver has in a state: counting a million rows would hold up everything else.
  -- Those that share a store on a server count by themselves, each in its part.
  CREATE TABLE delivery_count (
    receiver TEXT NOT NULL,
    state TEXT NOT NULL,
    part INTEGER NOT NULL DEFAULT 0,
    count INTEGER NOT NULL,
    PRIMARY KEY (receiver, state, part)
  ) STRICT, WITHOUT ROWID;

  -- An integration that accepts nothing, with its tries that failed in a row; one that accepts has no row.
  CREATE TABLE failing_integration (
    receiver TEXT NOT NULL,
    position INTEGER NOT NULL,
    integration TEXT NOT NULL,
    failures INTEGER NOT NULL,
    since_us INTEGER NOT NULL,
    last_error TEXT NOT NULL,
    PRIMARY KEY (receiver, position, integration)
  ) STRICT, WITHOUT ROWID;

  -- An event that a group's notification covers. It is asked for rarely, so the row is kept small.
  CREATE TABLE notified_event (
    event INTEGER NOT NULL,
    notification INTEGER NOT NULL,
    PRIMARY KEY (event, notification)
  ) STRICT, WITHOUT ROWID;

  -- An alert that a group's notification lists. What is known of it outlives the alert, by former_alert.
  CREATE TABLE notified_alert (
    alert INTEGER NOT NULL,
    notification INTEGER NOT NULL,
    PRIMARY KEY (alert, notification)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX notified_alert_of ON notified_alert (notification);

  -- A batch of events that was forwarded to a receiver, by the first of them.
  CREATE TABLE forwarded_batch (
    first_event INTEGER NOT NULL,
    receiver TEXT NOT NULL,
    notification INTEGER NOT NULL,
    PRIMARY KEY (first_event, receiver)
  ) STRICT, WITHOUT ROWID;

  -- A key for signatures, made by this program itself and of no use outside of it.
  CREATE TABLE signing_key (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
  ) STRICT;
`;

/** Who does what, where several replicas share the store. */
const OWNED = `
  -- A life of a process. AUTOINCREMENT: a number is never given twice.
  CREATE TABLE replica (
    replica INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    version TEXT NOT NULL,
    started_us INTEGER NOT NULL,
    -- From then on it may be removed, unless it says that it lives.
    expires_us INTEGER NOT NULL,
    -- 1 where it is about to end.
    leaving INTEGER NOT NULL,
    -- By how much its own clock is ahead of the store's.
    clock_ahead_us INTEGER NOT NULL DEFAULT 0,
    -- Of a configuration that it could not take up: how many mistakes it has, the first, and since when. 0 for none.
    mistakes INTEGER NOT NULL DEFAULT 0,
    first_mistake TEXT NOT NULL DEFAULT '',
    refused_us INTEGER NOT NULL DEFAULT 0,
    -- By which configuration it goes, by its digest, and since when; empty where that is not known.
    config TEXT NOT NULL DEFAULT '',
    config_us INTEGER NOT NULL DEFAULT 0,
    -- When another one took a region from it that it did not reach; 0 for never.
    relieved_us INTEGER NOT NULL DEFAULT 0,
    -- How long the store took lately to answer it.
    turn_ms INTEGER NOT NULL DEFAULT 0
  ) STRICT;

  -- What one replica at a time does. The epoch grows each time that it goes from one to another.
  CREATE TABLE duty (
    duty TEXT PRIMARY KEY,
    -- 0 for nobody.
    owner INTEGER NOT NULL DEFAULT 0,
    epoch INTEGER NOT NULL DEFAULT 0,
    since_us INTEGER NOT NULL DEFAULT 0,
    weight REAL NOT NULL DEFAULT 0,
    -- How it stands, as its owner has shown it, JSON; empty for nothing.
    shown TEXT NOT NULL DEFAULT '',
    shown_us INTEGER NOT NULL DEFAULT 0,
    -- Of alerting: what the store's clock showed when it was noted last.
    clock_us INTEGER NOT NULL DEFAULT 0
  ) STRICT;
`;

export const SCHEMA = `${WATCHED}${ALERTED}${QUEUED}${OWNED}`;
