CREATE TABLE region ( region TEXT PRIMARY KEY, since_us INTEGER NOT NULL , errors_since_us INTEGER NOT NULL DEFAULT 0) STRICT, WITHOUT ROWID;
CREATE TABLE region_start ( region TEXT PRIMARY KEY, first_us INTEGER NOT NULL ) STRICT, WITHOUT ROWID;
CREATE TABLE region_rate ( region TEXT PRIMARY KEY,
    per_second REAL NOT NULL,
    kept_us INTEGER NOT NULL ) STRICT, WITHOUT ROWID;
CREATE TABLE nest ( region TEXT NOT NULL,
    nest_id TEXT NOT NULL,
    name TEXT NOT NULL,
    -- The name as it is searched: in lower case (foldedText).
    folded TEXT NOT NULL,
    -- 0 once a reading no longer listed it; that was at gone_us.
    present INTEGER NOT NULL,
    gone_us INTEGER NOT NULL,
    PRIMARY KEY (region, nest_id) ) STRICT, WITHOUT ROWID;
CREATE INDEX nest_gone ON nest (gone_us) WHERE present = 0;
CREATE TABLE nest_hour ( region TEXT NOT NULL,
    nest_id TEXT NOT NULL,
    hour INTEGER NOT NULL,
    succeeded INTEGER NOT NULL,
    failed INTEGER NOT NULL, late_succeeded INTEGER NOT NULL DEFAULT 0, late_failed INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (region, nest_id, hour) ) STRICT, WITHOUT ROWID;
CREATE INDEX nest_hour_by_age ON nest_hour (hour);
CREATE TABLE nest_members ( region TEXT NOT NULL,
    nest_id TEXT NOT NULL,
    addresses TEXT NOT NULL,
    PRIMARY KEY (region, nest_id) ) STRICT, WITHOUT ROWID;
CREATE TABLE bird ( region TEXT NOT NULL,
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
    ) VIRTUAL, deadline_us INTEGER NOT NULL DEFAULT 0, counted_us INTEGER NOT NULL DEFAULT 0, published INTEGER NOT NULL DEFAULT -1,
    PRIMARY KEY (region, bird_id) ) STRICT, WITHOUT ROWID;
CREATE INDEX bird_gone ON bird (gone_us) WHERE present = 0;
CREATE INDEX bird_of_nest ON bird (region, nest_id);
CREATE INDEX bird_by_trouble ON bird (trouble, last_us, region, bird_id) WHERE present = 1;
CREATE TABLE stream ( stream INTEGER PRIMARY KEY AUTOINCREMENT,
    region TEXT NOT NULL,
    feed TEXT NOT NULL,
    bird_id TEXT NOT NULL,
    cursor_us INTEGER NOT NULL,
    -- Until when retention has deleted what was read: read again, it would count as new.
    pruned_us INTEGER NOT NULL DEFAULT 0,
    UNIQUE (region, feed, bird_id) ) STRICT;
CREATE TABLE feed_read ( region TEXT NOT NULL,
    feed TEXT NOT NULL,
    read_us INTEGER NOT NULL,
    PRIMARY KEY (region, feed) ) STRICT, WITHOUT ROWID;
CREATE TABLE backfill ( stream INTEGER PRIMARY KEY, from_us INTEGER NOT NULL, until_us INTEGER NOT NULL ) STRICT;
CREATE TABLE audit ( stream INTEGER PRIMARY KEY, body TEXT NOT NULL ) STRICT;
CREATE TABLE quarantine ( entry INTEGER PRIMARY KEY,
    stream INTEGER NOT NULL,
    hash BLOB NOT NULL,
    kept_us INTEGER NOT NULL,
    reason TEXT NOT NULL,
    raw TEXT NOT NULL,
    UNIQUE (stream, hash) ) STRICT;
CREATE INDEX quarantine_by_age ON quarantine (kept_us);
CREATE INDEX quarantine_of_stream ON quarantine (stream, kept_us);
CREATE TABLE event ( event INTEGER PRIMARY KEY,
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
    body TEXT NOT NULL ) STRICT;
CREATE UNIQUE INDEX event_of_stream ON event (stream, occurred_us, id);
CREATE INDEX event_by_age ON event (occurred_us, stream);
CREATE TABLE flight ( stream INTEGER NOT NULL,
    started_us INTEGER NOT NULL,
    id TEXT NOT NULL,
    status TEXT NOT NULL,
    open INTEGER NOT NULL,
    -- How many ends were seen.
    ends INTEGER NOT NULL,
    -- When it ended; 0 if unknown.
    ended_us INTEGER NOT NULL,
    -- When it is next judged whether the Flight is taking too long.
    judge_us INTEGER NOT NULL DEFAULT 0, log_due_us INTEGER NOT NULL DEFAULT 0, wrote_us INTEGER NOT NULL DEFAULT 0, tail TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (stream, started_us, id) ) STRICT, WITHOUT ROWID;
CREATE INDEX flight_open ON flight (stream) WHERE open = 1;
CREATE INDEX flight_ended ON flight (started_us) WHERE open = 0;
CREATE INDEX flight_in_air ON flight (started_us, judge_us) WHERE open = 1;
CREATE INDEX flight_failed ON flight (stream, started_us, ended_us) WHERE open = 0 AND status = 'failed';
CREATE INDEX flight_by_id ON flight (id);
CREATE TABLE alert ( alert INTEGER PRIMARY KEY,
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
    
    body TEXT NOT NULL ) STRICT;
CREATE INDEX alert_region ON alert (region, scope);
CREATE INDEX alert_due ON alert (due_us) WHERE due_us IS NOT NULL;
CREATE INDEX alert_state ON alert (state, starts_us);
CREATE INDEX alert_firing ON alert (alertname, severity, region, nest_id) WHERE state = 'firing';
CREATE TABLE changed_alert ( position INTEGER PRIMARY KEY,
    alert INTEGER NOT NULL UNIQUE ) STRICT;
CREATE TABLE former_alert ( alert INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE ) STRICT;
CREATE TABLE alert_event ( alert INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    event INTEGER NOT NULL,
    PRIMARY KEY (alert, seq) ) STRICT, WITHOUT ROWID;
CREATE INDEX alert_event_event ON alert_event (event);
CREATE TABLE episode ( alert_id TEXT NOT NULL,
    starts_us INTEGER NOT NULL,
    -- When its end was seen.
    resolved_us INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (alert_id, starts_us) ) STRICT, WITHOUT ROWID;
CREATE INDEX episode_by_age ON episode (resolved_us);
CREATE TABLE alert_group ( alert_group INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    receiver TEXT NOT NULL,
    next_flush_us INTEGER NOT NULL,
    body TEXT NOT NULL ) STRICT;
CREATE INDEX alert_group_due ON alert_group (next_flush_us);
CREATE TABLE group_member ( alert_group INTEGER NOT NULL,
    alert INTEGER NOT NULL,
    -- The sort of its group: route, escalation, fallback, held_back or catch_up.
    sort TEXT NOT NULL,
    notified_seq INTEGER NOT NULL,
    notified_state TEXT NOT NULL,
    PRIMARY KEY (alert_group, alert) ) STRICT, WITHOUT ROWID;
CREATE INDEX group_member_alert ON group_member (alert);
CREATE TABLE silence ( id TEXT PRIMARY KEY,
    ends_us INTEGER NOT NULL,
    -- The alert and episode that the silence acknowledges; null for any other silence.
    
    body TEXT NOT NULL , alert_id TEXT, alert_starts_us INTEGER) STRICT;
CREATE INDEX silence_by_end ON silence (ends_us, id);
CREATE TABLE suppression ( suppression INTEGER PRIMARY KEY,
    alert_id TEXT NOT NULL,
    after_seq INTEGER NOT NULL,
    last_seq INTEGER NOT NULL,
    group_key TEXT NOT NULL,
    receiver TEXT NOT NULL,
    reason TEXT NOT NULL,
    detail TEXT NOT NULL,
    at_us INTEGER NOT NULL ) STRICT;
CREATE INDEX suppression_alert ON suppression (alert_id);
CREATE INDEX suppression_by_age ON suppression (at_us);
CREATE TABLE suppressed_event ( event INTEGER NOT NULL,
    suppression INTEGER NOT NULL,
    PRIMARY KEY (event, suppression) ) STRICT, WITHOUT ROWID;
CREATE INDEX suppressed_event_reason ON suppressed_event (suppression);
CREATE TABLE write_request ( seq INTEGER PRIMARY KEY,
    at_us INTEGER NOT NULL,
    who TEXT NOT NULL,
    known_by TEXT NOT NULL,
    source TEXT NOT NULL,
    action TEXT NOT NULL,
    asked TEXT NOT NULL,
    status INTEGER NOT NULL ) STRICT;
CREATE INDEX write_request_by_age ON write_request (at_us);
CREATE TABLE digest ( name TEXT PRIMARY KEY, body TEXT NOT NULL ) STRICT;
CREATE TABLE forward_queue ( receiver TEXT NOT NULL,
    seq INTEGER NOT NULL,
    event TEXT NOT NULL,
    PRIMARY KEY (receiver, seq) ) STRICT, WITHOUT ROWID;
CREATE TABLE receiver_pace ( receiver TEXT PRIMARY KEY, body TEXT NOT NULL ) STRICT;
CREATE TABLE notification ( seq INTEGER PRIMARY KEY, body TEXT NOT NULL ) STRICT;
CREATE TABLE delivery ( seq INTEGER PRIMARY KEY,
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
    holder INTEGER NOT NULL DEFAULT 0 ) STRICT;
CREATE INDEX delivery_waiting ON delivery (receiver, position, next_attempt_us)
    WHERE turn = 1 AND state IN ('pending', 'retry', 'ambiguous');
CREATE INDEX delivery_lane ON delivery (receiver, position, lane, turn)
    WHERE lane <> '' AND state IN ('pending', 'leased', 'retry', 'ambiguous');
CREATE INDEX delivery_reference ON delivery (receiver, position, lane, seq) WHERE reference <> '';
CREATE INDEX delivery_undelivered ON delivery (state) WHERE state <> 'delivered';
CREATE INDEX delivery_settled ON delivery (settled_us) WHERE settled_us > 0;
CREATE INDEX delivery_notification ON delivery (notification);
CREATE INDEX delivery_fallback ON delivery (fallback_us) WHERE fallback_us IS NOT NULL;
CREATE TABLE delivery_count ( receiver TEXT NOT NULL,
    state TEXT NOT NULL,
    -- Each process that shares the store counts in its own rows: two that wrote the same row would conflict.
    part INTEGER NOT NULL DEFAULT 0,
    count INTEGER NOT NULL,
    PRIMARY KEY (receiver, state, part) ) STRICT, WITHOUT ROWID;
CREATE TABLE failing_integration ( receiver TEXT NOT NULL,
    position INTEGER NOT NULL,
    integration TEXT NOT NULL,
    failures INTEGER NOT NULL,
    since_us INTEGER NOT NULL,
    last_error TEXT NOT NULL,
    PRIMARY KEY (receiver, position, integration) ) STRICT, WITHOUT ROWID;
CREATE TABLE notified_event ( event INTEGER NOT NULL, notification INTEGER NOT NULL,
    PRIMARY KEY (event, notification) ) STRICT, WITHOUT ROWID;
CREATE TABLE notified_alert ( alert INTEGER NOT NULL, notification INTEGER NOT NULL,
    PRIMARY KEY (alert, notification) ) STRICT, WITHOUT ROWID;
CREATE INDEX notified_alert_of ON notified_alert (notification);
CREATE TABLE forwarded_batch ( first_event INTEGER NOT NULL,
    receiver TEXT NOT NULL,
    notification INTEGER NOT NULL,
    PRIMARY KEY (first_event, receiver) ) STRICT, WITHOUT ROWID;
CREATE TABLE signing_key ( name TEXT PRIMARY KEY, value TEXT NOT NULL ) STRICT;
CREATE TABLE replica ( replica INTEGER PRIMARY KEY AUTOINCREMENT,
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
    turn_ms INTEGER NOT NULL DEFAULT 0 ) STRICT;
CREATE TABLE duty ( duty TEXT PRIMARY KEY,
    -- 0 for none.
    owner INTEGER NOT NULL DEFAULT 0,
    epoch INTEGER NOT NULL DEFAULT 0,
    since_us INTEGER NOT NULL DEFAULT 0,
    weight REAL NOT NULL DEFAULT 0,
    -- Its state as the owner reported it, JSON; empty for none.
    shown TEXT NOT NULL DEFAULT '',
    shown_us INTEGER NOT NULL DEFAULT 0,
    -- For alerting: the store's clock when it was last recorded.
    clock_us INTEGER NOT NULL DEFAULT 0 ) STRICT;
CREATE TABLE fault ( sort TEXT NOT NULL,
    name TEXT NOT NULL,
    reason TEXT NOT NULL,
    since_us INTEGER NOT NULL,
    seen_us INTEGER NOT NULL,
    again_us INTEGER NOT NULL,
    -- For a row: the beginning of its content.
    raw TEXT NOT NULL,
    PRIMARY KEY (sort, name) ) STRICT, WITHOUT ROWID;
CREATE INDEX bird_judged ON bird (judge_us) WHERE present = 1;
CREATE INDEX flight_log ON flight (stream) WHERE open = 1 AND log_due_us > 0;
CREATE TABLE error_seen (
    region TEXT NOT NULL,
    hash TEXT NOT NULL,
    first_us INTEGER NOT NULL,
    last_us INTEGER NOT NULL,
    flights INTEGER NOT NULL,
    flight_id TEXT NOT NULL,
    bird_id TEXT NOT NULL,
    PRIMARY KEY (region, hash)
  ) STRICT, WITHOUT ROWID;
CREATE INDEX error_seen_by_age ON error_seen (last_us);
CREATE INDEX event_of_change ON event (stream, occurred_us) WHERE type IN ('bird_log.Published', 'bird_log.Activated');
CREATE INDEX alert_of_error ON alert (region, substr(cause, 1, 200))
    WHERE state = 'firing' AND alertname = 'FlightFailed';
CREATE TABLE listed (
    region TEXT NOT NULL,
    sort TEXT NOT NULL,
    id TEXT NOT NULL,
    said TEXT NOT NULL,
    PRIMARY KEY (region, sort, id)
  ) STRICT, WITHOUT ROWID;
CREATE TABLE alert_note (
    id TEXT PRIMARY KEY,
    alert_id TEXT NOT NULL,
    starts_us INTEGER NOT NULL,
    at_us INTEGER NOT NULL,
    author TEXT NOT NULL,
    text TEXT NOT NULL,
    -- 1 or 0.
    is_public INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
CREATE INDEX alert_note_of_alert ON alert_note (alert_id, at_us);
CREATE INDEX alert_note_by_age ON alert_note (at_us);
CREATE TABLE bird_action (
    id TEXT NOT NULL,
    region TEXT NOT NULL,
    bird_id TEXT NOT NULL,
    -- 1 or 0.
    open INTEGER NOT NULL,
    wanted_us INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (id)
  ) STRICT, WITHOUT ROWID;
CREATE TABLE action_pause (
    at_us INTEGER NOT NULL PRIMARY KEY,
    who TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX bird_action_open ON bird_action (region, bird_id) WHERE open = 1;
CREATE INDEX bird_action_of_bird ON bird_action (region, bird_id, wanted_us);
CREATE INDEX bird_action_by_age ON bird_action (wanted_us);
CREATE TABLE browser (
    receiver TEXT NOT NULL,
    id TEXT NOT NULL,
    subscribed_us INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (receiver, id)
  ) STRICT, WITHOUT ROWID;
CREATE TABLE missed_deadline (
    region TEXT NOT NULL,
    nest_id TEXT NOT NULL,
    half_hour INTEGER NOT NULL,
    missed INTEGER NOT NULL,
    PRIMARY KEY (region, nest_id, half_hour)
  ) STRICT, WITHOUT ROWID;
CREATE TABLE schema_step (
  step INTEGER PRIMARY KEY, version TEXT NOT NULL, done_at TIMESTAMPTZ NOT NULL, oldest INTEGER NOT NULL, digest TEXT);
INSERT INTO region (region, since_us, errors_since_us) VALUES ('eu', 1782993600000000, 0);
INSERT INTO region (region, since_us, errors_since_us) VALUES ('us', 1782993600000000, 0);
INSERT INTO region_start (region, first_us) VALUES ('eu', 1782993600000000);
INSERT INTO region_start (region, first_us) VALUES ('us', 1782993600000000);
INSERT INTO region_rate (region, per_second, kept_us) VALUES ('eu', 8.2258687057122693, 1782998130000000);
INSERT INTO region_rate (region, per_second, kept_us) VALUES ('us', 8.2258687057122693, 1782998130000000);
INSERT INTO nest (region, nest_id, name, folded, present, gone_us) VALUES ('eu', '891', 'Zürich 東京 "eu"', 'zürich 東京 ''eu''', 1, 0);
INSERT INTO nest (region, nest_id, name, folded, present, gone_us) VALUES ('us', '918', 'Zürich 東京 "us"', 'zürich 東京 ''us''', 1, 0);
INSERT INTO nest_hour (region, nest_id, hour, succeeded, failed, late_succeeded, late_failed) VALUES ('eu', '891', 495276, 0, 1, 0, 0);
INSERT INTO nest_hour (region, nest_id, hour, succeeded, failed, late_succeeded, late_failed) VALUES ('eu', '891', 495277, 0, 1, 0, 0);
INSERT INTO nest_hour (region, nest_id, hour, succeeded, failed, late_succeeded, late_failed) VALUES ('us', '918', 495276, 1, 1, 0, 0);
INSERT INTO nest_hour (region, nest_id, hour, succeeded, failed, late_succeeded, late_failed) VALUES ('us', '918', 495277, 0, 1, 0, 0);
INSERT INTO bird (region, bird_id, nest_id, name, folded, status, trigger_type, present, gone_us, status_since_us, first_status, news_since_us, judge_us, last_us, last_flight, last_status, outcome, outcome_us, firing, deadline_us, counted_us, published) VALUES ('eu', '896', '891', 'Translate blog', 'translate blog', 'active', 'manual', 1, 0, 1782993600000000, 1, 0, 1783000805000000, 1782993720000000, '7678501b-2bcc-4181-9395-ee6850fa39ae', 'failed', 'failed', 1782993720000000, 1, 0, 0, 1);
INSERT INTO bird (region, bird_id, nest_id, name, folded, status, trigger_type, present, gone_us, status_since_us, first_status, news_since_us, judge_us, last_us, last_flight, last_status, outcome, outcome_us, firing, deadline_us, counted_us, published) VALUES ('eu', '899', '891', 'Sync terms', 'sync terms', 'active', 'manual', 1, 0, 1782993600000000, 1, 0, 1783000805000000, 1782998220000000, '08d714aa-08ab-4ecc-83c4-12642296e94c', 'failed', 'failed', 1782998220000000, 1, 0, 0, 1);
INSERT INTO bird (region, bird_id, nest_id, name, folded, status, trigger_type, present, gone_us, status_since_us, first_status, news_since_us, judge_us, last_us, last_flight, last_status, outcome, outcome_us, firing, deadline_us, counted_us, published) VALUES ('us', '923', '918', 'Translate blog', 'translate blog', 'active', 'manual', 1, 0, 1782993600000000, 1, 0, 1783000805000000, 1782994020000000, 'bdaa9b75-689b-4605-a15b-b27c94113a01', 'succeeded', 'succeeded', 1782994020000000, 0, 0, 0, 1);
INSERT INTO bird (region, bird_id, nest_id, name, folded, status, trigger_type, present, gone_us, status_since_us, first_status, news_since_us, judge_us, last_us, last_flight, last_status, outcome, outcome_us, firing, deadline_us, counted_us, published) VALUES ('us', '924', '918', 'Sync terms', 'sync terms', 'active', 'manual', 1, 0, 1782993600000000, 1, 0, 1783000805000000, 1782998220000000, 'f46b0a7f-8273-42ae-8499-4d8f14508e01', 'failed', 'failed', 1782998220000000, 1, 0, 0, 1);
INSERT INTO stream (stream, region, feed, bird_id, cursor_us, pruned_us) VALUES (1, 'eu', 'notification', '', 0, 0);
INSERT INTO stream (stream, region, feed, bird_id, cursor_us, pruned_us) VALUES (2, 'us', 'notification', '', 0, 0);
INSERT INTO stream (stream, region, feed, bird_id, cursor_us, pruned_us) VALUES (3, 'eu', 'bird_log', '896', 0, 0);
INSERT INTO stream (stream, region, feed, bird_id, cursor_us, pruned_us) VALUES (4, 'us', 'bird_log', '923', 0, 0);
INSERT INTO stream (stream, region, feed, bird_id, cursor_us, pruned_us) VALUES (5, 'eu', 'flight', '896', 1782993720000000, 0);
INSERT INTO stream (stream, region, feed, bird_id, cursor_us, pruned_us) VALUES (6, 'us', 'flight', '923', 1782994020000000, 0);
INSERT INTO stream (stream, region, feed, bird_id, cursor_us, pruned_us) VALUES (7, 'eu', 'flight', '899', 1782998220000000, 0);
INSERT INTO stream (stream, region, feed, bird_id, cursor_us, pruned_us) VALUES (8, 'us', 'flight', '924', 1782998220000000, 0);
INSERT INTO stream (stream, region, feed, bird_id, cursor_us, pruned_us) VALUES (9, 'eu', 'bird_log', '899', 0, 0);
INSERT INTO stream (stream, region, feed, bird_id, cursor_us, pruned_us) VALUES (10, 'us', 'bird_log', '924', 0, 0);
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence (name, seq) VALUES ('stream', 10);
INSERT INTO feed_read (region, feed, read_us) VALUES ('eu', 'bird_log', 1782998372150675);
INSERT INTO feed_read (region, feed, read_us) VALUES ('eu', 'flight', 1782998381891056);
INSERT INTO feed_read (region, feed, read_us) VALUES ('eu', 'inventory', 1782998100000000);
INSERT INTO feed_read (region, feed, read_us) VALUES ('eu', 'notification', 1782998371283885);
INSERT INTO feed_read (region, feed, read_us) VALUES ('us', 'bird_log', 1782998372150675);
INSERT INTO feed_read (region, feed, read_us) VALUES ('us', 'flight', 1782998381891056);
INSERT INTO feed_read (region, feed, read_us) VALUES ('us', 'inventory', 1782998100000000);
INSERT INTO feed_read (region, feed, read_us) VALUES ('us', 'notification', 1782998371283885);
INSERT INTO audit (stream, body) VALUES (1, '{"verifiedUs":1782993481000000,"dayAuditedUs":1782993630000000,"wholeAuditedUs":1782993630000000,"deletedUs":0,"gaps":[]}');
INSERT INTO audit (stream, body) VALUES (2, '{"verifiedUs":1782993481000000,"dayAuditedUs":1782993630000000,"wholeAuditedUs":1782993630000000,"deletedUs":0,"gaps":[]}');
INSERT INTO audit (stream, body) VALUES (3, '{"verifiedUs":1782993481000000,"dayAuditedUs":1782993630000000,"wholeAuditedUs":1782993630000000,"deletedUs":0,"gaps":[]}');
INSERT INTO audit (stream, body) VALUES (4, '{"verifiedUs":1782993481000000,"dayAuditedUs":1782993630000000,"wholeAuditedUs":1782993630000000,"deletedUs":0,"gaps":[]}');
INSERT INTO audit (stream, body) VALUES (5, '{"verifiedUs":1782993483000000,"dayAuditedUs":0,"wholeAuditedUs":0,"deletedUs":0,"gaps":[]}');
INSERT INTO audit (stream, body) VALUES (6, '{"verifiedUs":1782993483000000,"dayAuditedUs":0,"wholeAuditedUs":0,"deletedUs":0,"gaps":[]}');
INSERT INTO audit (stream, body) VALUES (7, '{"verifiedUs":1782993483000000,"dayAuditedUs":0,"wholeAuditedUs":0,"deletedUs":0,"gaps":[]}');
INSERT INTO audit (stream, body) VALUES (8, '{"verifiedUs":1782993483000000,"dayAuditedUs":0,"wholeAuditedUs":0,"deletedUs":0,"gaps":[]}');
INSERT INTO audit (stream, body) VALUES (9, '{"verifiedUs":1782993482000000,"dayAuditedUs":1782993630000000,"wholeAuditedUs":1782993630000000,"deletedUs":0,"gaps":[]}');
INSERT INTO audit (stream, body) VALUES (10, '{"verifiedUs":1782993482000000,"dayAuditedUs":1782993630000000,"wholeAuditedUs":1782993630000000,"deletedUs":0,"gaps":[]}');
INSERT INTO event (event, stream, occurred_us, id, type, observed_us, message, body) VALUES (1, 5, 1782993720000000, '7678501b-2bcc-4181-9395-ee6850fa39ae/failed', 'flight.failed', 1782993721891056, 'The TMS refused the job', '["891","Zürich 東京 \"eu\"","896","Translate blog",{"flight_id":"7678501b-2bcc-4181-9395-ee6850fa39ae","status":"failed","started_at":"2026-07-02T12:02:00.000000Z","started_at_us":1782993720000000,"duration_seconds":0,"step_id":"2","scope":"Translate","error_type":"PluginApplication"}]');
INSERT INTO event (event, stream, occurred_us, id, type, observed_us, message, body) VALUES (2, 6, 1782993720000000, '84d655cd-1351-42be-8586-e9fe0496e7c2/failed', 'flight.failed', 1782993721891056, 'The TMS refused the job', '["918","Zürich 東京 \"us\"","923","Translate blog",{"flight_id":"84d655cd-1351-42be-8586-e9fe0496e7c2","status":"failed","started_at":"2026-07-02T12:02:00.000000Z","started_at_us":1782993720000000,"duration_seconds":0,"step_id":"2","scope":"Translate","error_type":"PluginApplication"}]');
INSERT INTO event (event, stream, occurred_us, id, type, observed_us, message, body) VALUES (3, 6, 1782994020000000, 'bdaa9b75-689b-4605-a15b-b27c94113a01/succeeded', 'flight.succeeded', 1782994031891056, '', '["918","Zürich 東京 \"us\"","923","Translate blog",{"flight_id":"bdaa9b75-689b-4605-a15b-b27c94113a01","status":"succeeded","started_at":"2026-07-02T12:07:00.000000Z","started_at_us":1782994020000000,"duration_seconds":0}]');
INSERT INTO event (event, stream, occurred_us, id, type, observed_us, message, body) VALUES (4, 7, 1782998220000000, '08d714aa-08ab-4ecc-83c4-12642296e94c/failed', 'flight.failed', 1782998222150675, 'The TMS refused the job', '["891","Zürich 東京 \"eu\"","899","Sync terms",{"flight_id":"08d714aa-08ab-4ecc-83c4-12642296e94c","status":"failed","started_at":"2026-07-02T13:17:00.000000Z","started_at_us":1782998220000000,"duration_seconds":0,"step_id":"2","scope":"Translate","error_type":"PluginApplication"}]');
INSERT INTO event (event, stream, occurred_us, id, type, observed_us, message, body) VALUES (5, 8, 1782998220000000, 'f46b0a7f-8273-42ae-8499-4d8f14508e01/failed', 'flight.failed', 1782998222150675, 'The TMS refused the job', '["918","Zürich 東京 \"us\"","924","Sync terms",{"flight_id":"f46b0a7f-8273-42ae-8499-4d8f14508e01","status":"failed","started_at":"2026-07-02T13:17:00.000000Z","started_at_us":1782998220000000,"duration_seconds":0,"step_id":"2","scope":"Translate","error_type":"PluginApplication"}]');
INSERT INTO flight (stream, started_us, id, status, open, ends, ended_us, judge_us, log_due_us, wrote_us, tail) VALUES (5, 1782993720000000, '7678501b-2bcc-4181-9395-ee6850fa39ae', 'failed', 0, 1, 1782993720000000, 0, 0, 0, '');
INSERT INTO flight (stream, started_us, id, status, open, ends, ended_us, judge_us, log_due_us, wrote_us, tail) VALUES (6, 1782993720000000, '84d655cd-1351-42be-8586-e9fe0496e7c2', 'failed', 0, 1, 1782993720000000, 0, 0, 0, '');
INSERT INTO flight (stream, started_us, id, status, open, ends, ended_us, judge_us, log_due_us, wrote_us, tail) VALUES (6, 1782994020000000, 'bdaa9b75-689b-4605-a15b-b27c94113a01', 'succeeded', 0, 1, 1782994020000000, 0, 0, 0, '');
INSERT INTO flight (stream, started_us, id, status, open, ends, ended_us, judge_us, log_due_us, wrote_us, tail) VALUES (7, 1782994020000000, '76e17aaa-5137-44ae-b864-8b2620174edc', 'active', 1, 0, 0, 1782998520000000, 0, 0, '');
INSERT INTO flight (stream, started_us, id, status, open, ends, ended_us, judge_us, log_due_us, wrote_us, tail) VALUES (7, 1782998220000000, '08d714aa-08ab-4ecc-83c4-12642296e94c', 'failed', 0, 1, 1782998220000000, 0, 0, 0, '');
INSERT INTO flight (stream, started_us, id, status, open, ends, ended_us, judge_us, log_due_us, wrote_us, tail) VALUES (8, 1782998220000000, 'f46b0a7f-8273-42ae-8499-4d8f14508e01', 'failed', 0, 1, 1782998220000000, 0, 0, 0, '');
INSERT INTO alert (alert, id, region, scope, alertname, severity, nest_id, state, flaps_on, starts_us, ends_us, due_us, rank, bird_id, cause, nest, bird, words, body) VALUES (1, 'FlightFailed/93f7e433/eu/bird/896', 'eu', 'eu/bird/896', 'FlightFailed', 'warning', '891', 'firing', 0, 1782993720000000, 0, 1783080121891056, 2, '896', 'The TMS refused the job', 'zürich 東京 ''eu''', 'translate blog', 'flightfailed
flightfailed
translate blog
896
the tms refused the job
pluginapplication
zürich 東京 ''eu''
891
eu
warning
flight of translate blog failed in zürich 東京 ''eu'' (eu)
the tms refused the job', '{"state":"firing","labels":{"alertname":"FlightFailed","bird":"Translate blog","bird_id":"896","error":"The TMS refused the job","error_type":"PluginApplication","nest":"Zürich 東京 \"eu\"","nest_id":"891","region":"eu","severity":"warning"},"annotations":{"summary":"Flight of Translate blog failed in Zürich 東京 \"eu\" (EU)","description":"The TMS refused the job"},"startsAtUs":1782993720000000,"endsAtUs":0,"updatedAtUs":1782993721891056,"eventsTotal":1,"lastSeq":1,"memory":{"waiting":[],"failedStartUs":1782993720000000},"dueAtUs":1783080121891056,"id":"FlightFailed/93f7e433/eu/bird/896","scope":"eu/bird/896","subject":"bird/896","firstRule":"93f7e433","alertname":"FlightFailed","rule":"93f7e433","flapping":{"changesUs":[1782993720000000]}}');
INSERT INTO alert (alert, id, region, scope, alertname, severity, nest_id, state, flaps_on, starts_us, ends_us, due_us, rank, bird_id, cause, nest, bird, words, body) VALUES (4, 'FlightFailed/93f7e433/eu/bird/899', 'eu', 'eu/bird/899', 'FlightFailed', 'warning', '891', 'firing', 0, 1782998220000000, 0, 1783084622150675, 2, '899', 'The TMS refused the job', 'zürich 東京 ''eu''', 'sync terms', 'flightfailed
flightfailed
sync terms
899
the tms refused the job
pluginapplication
zürich 東京 ''eu''
891
eu
warning
flight of sync terms failed in zürich 東京 ''eu'' (eu)
the tms refused the job', '{"state":"firing","labels":{"alertname":"FlightFailed","bird":"Sync terms","bird_id":"899","error":"The TMS refused the job","error_type":"PluginApplication","nest":"Zürich 東京 \"eu\"","nest_id":"891","region":"eu","severity":"warning"},"annotations":{"summary":"Flight of Sync terms failed in Zürich 東京 \"eu\" (EU)","description":"The TMS refused the job"},"startsAtUs":1782998220000000,"endsAtUs":0,"updatedAtUs":1782998222150675,"eventsTotal":1,"lastSeq":1,"memory":{"waiting":[],"failedStartUs":1782998220000000},"dueAtUs":1783084622150675,"id":"FlightFailed/93f7e433/eu/bird/899","scope":"eu/bird/899","subject":"bird/899","firstRule":"93f7e433","alertname":"FlightFailed","rule":"93f7e433","flapping":{"changesUs":[1782998220000000]}}');
INSERT INTO alert (alert, id, region, scope, alertname, severity, nest_id, state, flaps_on, starts_us, ends_us, due_us, rank, bird_id, cause, nest, bird, words, body) VALUES (5, 'FlightFailed/93f7e433/us/bird/924', 'us', 'us/bird/924', 'FlightFailed', 'warning', '918', 'firing', 0, 1782998220000000, 0, 1783084622150675, 2, '924', 'The TMS refused the job', 'zürich 東京 ''us''', 'sync terms', 'flightfailed
flightfailed
sync terms
924
the tms refused the job
pluginapplication
zürich 東京 ''us''
918
us
warning
flight of sync terms failed in zürich 東京 ''us'' (us)
the tms refused the job', '{"state":"firing","labels":{"alertname":"FlightFailed","bird":"Sync terms","bird_id":"924","error":"The TMS refused the job","error_type":"PluginApplication","nest":"Zürich 東京 \"us\"","nest_id":"918","region":"us","severity":"warning"},"annotations":{"summary":"Flight of Sync terms failed in Zürich 東京 \"us\" (US)","description":"The TMS refused the job"},"startsAtUs":1782998220000000,"endsAtUs":0,"updatedAtUs":1782998222150675,"eventsTotal":1,"lastSeq":1,"memory":{"waiting":[],"failedStartUs":1782998220000000},"dueAtUs":1783084622150675,"id":"FlightFailed/93f7e433/us/bird/924","scope":"us/bird/924","subject":"bird/924","firstRule":"93f7e433","alertname":"FlightFailed","rule":"93f7e433","flapping":{"changesUs":[1782998220000000]}}');
INSERT INTO alert (alert, id, region, scope, alertname, severity, nest_id, state, flaps_on, starts_us, ends_us, due_us, rank, bird_id, cause, nest, bird, words, body) VALUES (6, 'DeliveryFailing/63469274/all/lake/webhook', 'all', 'all/delivery', 'DeliveryFailing', 'critical', '', 'pending', 0, 0, 0, 1782998522150675, 0, '', '', '', '', 'deliveryfailing
deliveryfailing
webhook
lake
all
critical', '{"state":"pending","labels":{"alertname":"DeliveryFailing","integration":"webhook","receiver":"lake","region":"all","severity":"critical"},"annotations":{},"startsAtUs":0,"endsAtUs":0,"updatedAtUs":1782998222150675,"eventsTotal":0,"lastSeq":0,"memory":{"receiver":"lake","integration":"webhook","through":"webhook","sinceUs":1782998222150675,"reason":"HTTP 503"},"dueAtUs":1782998522150675,"id":"DeliveryFailing/63469274/all/lake/webhook","scope":"all/delivery","subject":"lake/webhook","firstRule":"63469274","alertname":"DeliveryFailing","rule":"63469274"}');
INSERT INTO former_alert (alert, id) VALUES (2, 'FlightFailed/93f7e433/us/bird/923');
INSERT INTO alert_event (alert, seq, event) VALUES (1, 1, 1);
INSERT INTO alert_event (alert, seq, event) VALUES (4, 1, 4);
INSERT INTO alert_event (alert, seq, event) VALUES (5, 1, 5);
INSERT INTO episode (alert_id, starts_us, resolved_us, body) VALUES ('FlightFailed/93f7e433/us/bird/923', 1782993720000000, 1782994031891056, '{"alertId":"FlightFailed/93f7e433/us/bird/923","alertname":"FlightFailed","labels":{"alertname":"FlightFailed","bird":"Translate blog","bird_id":"923","error":"The TMS refused the job","error_type":"PluginApplication","nest":"Zürich 東京 \"us\"","nest_id":"918","region":"us","severity":"warning"},"startsAtUs":1782993720000000,"endsAtUs":1782994020000000,"events":1,"ending":"over"}');
INSERT INTO alert_group (alert_group, key, receiver, next_flush_us, body) VALUES (1, '{}:{alertname="FlightFailed", nest="Zürich 東京 \"eu\"", region="eu"}', 'ops', 1782998411891056, '{"sort":"route","key":"{}:{alertname=\"FlightFailed\", nest=\"Zürich 東京 \\\"eu\\\"\", region=\"eu\"}","route":"0","receiver":"ops","labels":{"alertname":"FlightFailed","nest":"Zürich 東京 \"eu\"","region":"eu"},"nextFlushAtUs":1782998411891056,"notifiedAtUs":1782993731891056,"thread":"hk0o09cr9c-b606b4e79638aed1","notifications":1,"repeats":0,"toldRank":1}');
INSERT INTO alert_group (alert_group, key, receiver, next_flush_us, body) VALUES (2, '{}:{alertname="FlightFailed", nest="Zürich 東京 \"us\"", region="us"}', 'ops', 1782998412150675, '{"sort":"route","key":"{}:{alertname=\"FlightFailed\", nest=\"Zürich 東京 \\\"us\\\"\", region=\"us\"}","route":"0","receiver":"ops","labels":{"alertname":"FlightFailed","nest":"Zürich 東京 \"us\"","region":"us"},"nextFlushAtUs":1782998412150675,"notifiedAtUs":0,"thread":"hk0q2vrt03-831fd8dbeaef1777","notifications":0,"repeats":0}');
INSERT INTO group_member (alert_group, alert, sort, notified_seq, notified_state) VALUES (1, 1, 'route', 1, 'firing');
INSERT INTO group_member (alert_group, alert, sort, notified_seq, notified_state) VALUES (1, 4, 'route', 0, 'none');
INSERT INTO group_member (alert_group, alert, sort, notified_seq, notified_state) VALUES (2, 5, 'route', 0, 'none');
INSERT INTO silence (id, ends_us, body, alert_id, alert_starts_us) VALUES ('5f0c0000-0000-4000-8000-000000000001', 1783084620000000, '{"id":"5f0c0000-0000-4000-8000-000000000001","matchers":[{"name":"bird","op":"=","value":"Sync terms"}],"startsAtUs":1782998220000000,"endsAtUs":1783084620000000,"createdBy":"ann@example.com","comment":"known","recurrence":null,"alertId":null,"alertStartsAtUs":null,"updatedAtUs":1782998220000000}', NULL, NULL);
INSERT INTO digest (name, body) VALUES ('hourly', '{"name":"hourly","lastUs":1782997200000000,"lastEvent":3}');
INSERT INTO notification (seq, body) VALUES (1, '{"kind":"forward","id":"forward-54e79f595e2319e2","receiver":"lake","createdAtUs":1782993721891056,"events":[{"key":"eu/flight/7678501b-2bcc-4181-9395-ee6850fa39ae/failed","region":"eu","feed":"flight","type":"flight.failed","occurredAt":"2026-07-02T12:02:00.000000Z","occurredAtUs":1782993720000000,"observedAtUs":1782993721891056,"nestId":"891","nest":"Zürich 東京 \"eu\"","birdId":"896","bird":"Translate blog","message":"The TMS refused the job","attributes":{"flight_id":"7678501b-2bcc-4181-9395-ee6850fa39ae","status":"failed","started_at":"2026-07-02T12:02:00.000000Z","started_at_us":1782993720000000,"duration_seconds":0,"step_id":"2","scope":"Translate","error_type":"PluginApplication"}}],"identities":["webhook:8c3a6b277ba6624b"]}');
INSERT INTO notification (seq, body) VALUES (2, '{"kind":"forward","id":"forward-6b981250f0b2379a","receiver":"lake","createdAtUs":1782993721891056,"events":[{"key":"us/flight/84d655cd-1351-42be-8586-e9fe0496e7c2/failed","region":"us","feed":"flight","type":"flight.failed","occurredAt":"2026-07-02T12:02:00.000000Z","occurredAtUs":1782993720000000,"observedAtUs":1782993721891056,"nestId":"918","nest":"Zürich 東京 \"us\"","birdId":"923","bird":"Translate blog","message":"The TMS refused the job","attributes":{"flight_id":"84d655cd-1351-42be-8586-e9fe0496e7c2","status":"failed","started_at":"2026-07-02T12:02:00.000000Z","started_at_us":1782993720000000,"duration_seconds":0,"step_id":"2","scope":"Translate","error_type":"PluginApplication"}}],"identities":["webhook:8c3a6b277ba6624b"]}');
INSERT INTO notification (seq, body) VALUES (3, '{"kind":"group","id":"hk0o09cr9c-b606b4e79638aed1-0","receiver":"ops","createdAtUs":1782993731891056,"reason":"first","groupKey":"{}:{alertname=\"FlightFailed\", nest=\"Zürich 東京 \\\"eu\\\"\", region=\"eu\"}","groupSort":"route","groupLabels":{"alertname":"FlightFailed","nest":"Zürich 東京 \"eu\"","region":"eu"},"status":"firing","alerts":[{"id":"FlightFailed/93f7e433/eu/bird/896","status":"firing","isNew":true,"labels":{"alertname":"FlightFailed","bird":"Translate blog","bird_id":"896","error":"The TMS refused the job","error_type":"PluginApplication","nest":"Zürich 東京 \"eu\"","nest_id":"891","region":"eu","severity":"warning"},"annotations":{"who_acts":"likely to pass: the connected app did not respond","summary":"Flight of Translate blog failed in Zürich 東京 \"eu\" (EU)","description":"The TMS refused the job"},"startsAtUs":1782993720000000,"endsAtUs":0,"fingerprint":"ac4d3267f5ab6e1d","events":[{"key":"eu/flight/7678501b-2bcc-4181-9395-ee6850fa39ae/failed","region":"eu","feed":"flight","type":"flight.failed","occurredAt":"2026-07-02T12:02:00.000000Z","occurredAtUs":1782993720000000,"observedAtUs":1782993721891056,"nestId":"891","nest":"Zürich 東京 \"eu\"","birdId":"896","bird":"Translate blog","message":"The TMS refused the job","attributes":{"flight_id":"7678501b-2bcc-4181-9395-ee6850fa39ae","status":"failed","started_at":"2026-07-02T12:02:00.000000Z","started_at_us":1782993720000000,"duration_seconds":0,"step_id":"2","scope":"Translate","error_type":"PluginApplication"}}],"eventsTotal":1,"eventsOmitted":0,"history":["failed"]}],"truncatedAlerts":0,"firingTotal":1,"newTotal":1,"resolvedTotal":0,"thread":"hk0o09cr9c-b606b4e79638aed1","threadPosition":0,"flushId":"hk0o09cr9c-b606b4e79638aed1-0","identities":["email:983802faa5006064","webhook:00833583ddad39dd"]}');
INSERT INTO notification (seq, body) VALUES (4, '{"kind":"group","id":"hk0o09cr9c-c4bb539d28e0c6a0-0","receiver":"ops","createdAtUs":1782993731891056,"reason":"first","groupKey":"{}:{alertname=\"FlightFailed\", nest=\"Zürich 東京 \\\"us\\\"\", region=\"us\"}","groupSort":"route","groupLabels":{"alertname":"FlightFailed","nest":"Zürich 東京 \"us\"","region":"us"},"status":"firing","alerts":[{"id":"FlightFailed/93f7e433/us/bird/923","status":"firing","isNew":true,"labels":{"alertname":"FlightFailed","bird":"Translate blog","bird_id":"923","error":"The TMS refused the job","error_type":"PluginApplication","nest":"Zürich 東京 \"us\"","nest_id":"918","region":"us","severity":"warning"},"annotations":{"who_acts":"likely to pass: the connected app did not respond","summary":"Flight of Translate blog failed in Zürich 東京 \"us\" (US)","description":"The TMS refused the job"},"startsAtUs":1782993720000000,"endsAtUs":0,"fingerprint":"7fbab5e031ea2116","events":[{"key":"us/flight/84d655cd-1351-42be-8586-e9fe0496e7c2/failed","region":"us","feed":"flight","type":"flight.failed","occurredAt":"2026-07-02T12:02:00.000000Z","occurredAtUs":1782993720000000,"observedAtUs":1782993721891056,"nestId":"918","nest":"Zürich 東京 \"us\"","birdId":"923","bird":"Translate blog","message":"The TMS refused the job","attributes":{"flight_id":"84d655cd-1351-42be-8586-e9fe0496e7c2","status":"failed","started_at":"2026-07-02T12:02:00.000000Z","started_at_us":1782993720000000,"duration_seconds":0,"step_id":"2","scope":"Translate","error_type":"PluginApplication"}}],"eventsTotal":1,"eventsOmitted":0,"history":["failed"]}],"truncatedAlerts":0,"firingTotal":1,"newTotal":1,"resolvedTotal":0,"thread":"hk0o09cr9c-c4bb539d28e0c6a0","threadPosition":0,"flushId":"hk0o09cr9c-c4bb539d28e0c6a0-0","identities":["email:983802faa5006064","webhook:00833583ddad39dd"]}');
INSERT INTO notification (seq, body) VALUES (5, '{"kind":"group","id":"hk0o09cr9c-c4bb539d28e0c6a0-1-d790cf4f0a8f8a35","receiver":"ops","createdAtUs":1782994031891056,"reason":"resolved","groupKey":"{}:{alertname=\"FlightFailed\", nest=\"Zürich 東京 \\\"us\\\"\", region=\"us\"}","groupSort":"route","groupLabels":{"alertname":"FlightFailed","nest":"Zürich 東京 \"us\"","region":"us"},"status":"resolved","alerts":[{"id":"FlightFailed/93f7e433/us/bird/923","status":"resolved","labels":{"alertname":"FlightFailed","bird":"Translate blog","bird_id":"923","error":"The TMS refused the job","error_type":"PluginApplication","nest":"Zürich 東京 \"us\"","nest_id":"918","region":"us","severity":"warning"},"annotations":{"summary":"Flight of Translate blog failed in Zürich 東京 \"us\" (US)","description":"The TMS refused the job","resolved_by":"a Flight that started on 2 Jul 2026, 12:07 UTC succeeded"},"startsAtUs":1782993720000000,"endsAtUs":1782994020000000,"ending":"over","fingerprint":"7fbab5e031ea2116","events":[],"eventsTotal":1,"eventsOmitted":0,"history":["failed","succeeded"],"lastEvent":{"key":"us/flight/84d655cd-1351-42be-8586-e9fe0496e7c2/failed","occurredAtUs":1782993720000000}}],"truncatedAlerts":0,"firingTotal":0,"newTotal":0,"resolvedTotal":1,"thread":"hk0o09cr9c-c4bb539d28e0c6a0","threadPosition":1,"flushId":"hk0o09cr9c-c4bb539d28e0c6a0-1-d790cf4f0a8f8a35","identities":["email:983802faa5006064","webhook:00833583ddad39dd"]}');
INSERT INTO notification (seq, body) VALUES (6, '{"kind":"forward","id":"forward-038ac01b069e910a","receiver":"lake","createdAtUs":1782994031891056,"events":[{"key":"us/flight/bdaa9b75-689b-4605-a15b-b27c94113a01/succeeded","region":"us","feed":"flight","type":"flight.succeeded","occurredAt":"2026-07-02T12:07:00.000000Z","occurredAtUs":1782994020000000,"observedAtUs":1782994031891056,"nestId":"918","nest":"Zürich 東京 \"us\"","birdId":"923","bird":"Translate blog","message":"","attributes":{"flight_id":"bdaa9b75-689b-4605-a15b-b27c94113a01","status":"succeeded","started_at":"2026-07-02T12:07:00.000000Z","started_at_us":1782994020000000,"duration_seconds":0}}],"identities":["webhook:8c3a6b277ba6624b"]}');
INSERT INTO notification (seq, body) VALUES (7, '{"kind":"digest","id":"digest-67edfb42eb4f5900","receiver":"ops","createdAtUs":1782997200000000,"digest":{"name":"hourly","fromUs":1782993600000000,"toUs":1782997200000000,"flights":{"failed":2,"succeeded":1,"cancelled":0,"nests":[{"region":"eu","nest":"Zürich 東京 \"eu\"","bird":"","failed":1,"succeeded":0},{"region":"us","nest":"Zürich 東京 \"us\"","bird":"","failed":1,"succeeded":1}],"nestsFailing":2,"birds":[{"region":"eu","nest":"Zürich 東京 \"eu\"","bird":"Translate blog","birdId":"896","failed":1,"succeeded":0},{"region":"us","nest":"Zürich 東京 \"us\"","bird":"Translate blog","birdId":"923","failed":1,"succeeded":1}],"birdsFailing":2,"causes":[{"error":"The TMS refused the job","message":"The TMS refused the job","failed":2,"birds":2,"examples":[{"region":"eu","nest":"Zürich 東京 \"eu\"","bird":"Translate blog"},{"region":"us","nest":"Zürich 東京 \"us\"","bird":"Translate blog"}]}],"causesTotal":1,"slowest":[]},"open":[{"alertname":"FlightFailed","labels":{"alertname":"FlightFailed","bird":"Translate blog","bird_id":"896","error":"The TMS refused the job","error_type":"PluginApplication","nest":"Zürich 東京 \"eu\"","nest_id":"891","region":"eu","severity":"warning"},"startsAtUs":1782993720000000,"id":"FlightFailed/93f7e433/eu/bird/896"}],"openTotal":1,"recovered":{"alerts":1,"meanUs":300000000},"connectionsLost":[],"connectionsLostTotal":0,"deactivated":[],"deactivatedTotal":0,"silenced":[],"silencedTotal":0,"deadlines":[],"deadlinesTotal":0,"unusual":[],"unusualTotal":0,"suppressed":[],"dead":0,"watch":[{"region":"eu","verifiedUntilUs":1782993602000000,"impaired":[]},{"region":"us","verifiedUntilUs":1782993602000000,"impaired":[]}]},"timezone":"UTC","identities":["email:983802faa5006064","webhook:00833583ddad39dd"]}');
INSERT INTO notification (seq, body) VALUES (8, '{"kind":"forward","id":"forward-ad2daa9148ccc845","receiver":"lake","createdAtUs":1782998222150675,"events":[{"key":"eu/flight/08d714aa-08ab-4ecc-83c4-12642296e94c/failed","region":"eu","feed":"flight","type":"flight.failed","occurredAt":"2026-07-02T13:17:00.000000Z","occurredAtUs":1782998220000000,"observedAtUs":1782998222150675,"nestId":"891","nest":"Zürich 東京 \"eu\"","birdId":"899","bird":"Sync terms","message":"The TMS refused the job","attributes":{"flight_id":"08d714aa-08ab-4ecc-83c4-12642296e94c","status":"failed","started_at":"2026-07-02T13:17:00.000000Z","started_at_us":1782998220000000,"duration_seconds":0,"step_id":"2","scope":"Translate","error_type":"PluginApplication"}}],"identities":["webhook:8c3a6b277ba6624b"]}');
INSERT INTO notification (seq, body) VALUES (9, '{"kind":"forward","id":"forward-96940555ce480232","receiver":"lake","createdAtUs":1782998222150675,"events":[{"key":"us/flight/f46b0a7f-8273-42ae-8499-4d8f14508e01/failed","region":"us","feed":"flight","type":"flight.failed","occurredAt":"2026-07-02T13:17:00.000000Z","occurredAtUs":1782998220000000,"observedAtUs":1782998222150675,"nestId":"918","nest":"Zürich 東京 \"us\"","birdId":"924","bird":"Sync terms","message":"The TMS refused the job","attributes":{"flight_id":"f46b0a7f-8273-42ae-8499-4d8f14508e01","status":"failed","started_at":"2026-07-02T13:17:00.000000Z","started_at_us":1782998220000000,"duration_seconds":0,"step_id":"2","scope":"Translate","error_type":"PluginApplication"}}],"identities":["webhook:8c3a6b277ba6624b"]}');
INSERT INTO delivery (seq, id, notification, notification_id, receiver, integration, position, lane, turn, state, attempts, created_us, next_attempt_us, not_before_us, settled_us, last_error, cut_off, refusals, refused_by, remaining, reference, fallback_us, holder) VALUES (1, 'forward-54e79f595e2319e2-1', 1, 'forward-54e79f595e2319e2', 'lake', 'webhook', 1, '', 1, 'delivered', 1, 1782993721891056, 1782993721891056, 0, 1782993721891056, '', 0, 0, '', '', '', NULL, 0);
INSERT INTO delivery (seq, id, notification, notification_id, receiver, integration, position, lane, turn, state, attempts, created_us, next_attempt_us, not_before_us, settled_us, last_error, cut_off, refusals, refused_by, remaining, reference, fallback_us, holder) VALUES (2, 'forward-6b981250f0b2379a-1', 2, 'forward-6b981250f0b2379a', 'lake', 'webhook', 1, '', 1, 'delivered', 1, 1782993721891056, 1782993721891056, 0, 1782993721891056, '', 0, 0, '', '', '', NULL, 0);
INSERT INTO delivery (seq, id, notification, notification_id, receiver, integration, position, lane, turn, state, attempts, created_us, next_attempt_us, not_before_us, settled_us, last_error, cut_off, refusals, refused_by, remaining, reference, fallback_us, holder) VALUES (3, 'hk0o09cr9c-b606b4e79638aed1-0-0', 3, 'hk0o09cr9c-b606b4e79638aed1-0', 'ops', 'email', 0, '0 {}:{alertname="FlightFailed", nest="Zürich 東京 \"eu\"", region="eu"}', 1, 'delivered', 1, 1782993731891056, 1782993731891056, 0, 1782993731891056, '', 0, 0, '', '', '', NULL, 0);
INSERT INTO delivery (seq, id, notification, notification_id, receiver, integration, position, lane, turn, state, attempts, created_us, next_attempt_us, not_before_us, settled_us, last_error, cut_off, refusals, refused_by, remaining, reference, fallback_us, holder) VALUES (4, 'hk0o09cr9c-b606b4e79638aed1-0-1', 3, 'hk0o09cr9c-b606b4e79638aed1-0', 'ops', 'webhook', 1, '1 {}:{alertname="FlightFailed", nest="Zürich 東京 \"eu\"", region="eu"}', 1, 'delivered', 1, 1782993731891056, 1782993731891056, 0, 1782993731891056, '', 0, 0, '', '', '', NULL, 0);
INSERT INTO delivery (seq, id, notification, notification_id, receiver, integration, position, lane, turn, state, attempts, created_us, next_attempt_us, not_before_us, settled_us, last_error, cut_off, refusals, refused_by, remaining, reference, fallback_us, holder) VALUES (5, 'hk0o09cr9c-c4bb539d28e0c6a0-0-0', 4, 'hk0o09cr9c-c4bb539d28e0c6a0-0', 'ops', 'email', 0, '0 {}:{alertname="FlightFailed", nest="Zürich 東京 \"us\"", region="us"}', 1, 'delivered', 1, 1782993731891056, 1782993731891056, 0, 1782993731891056, '', 0, 0, '', '', '', NULL, 0);
INSERT INTO delivery (seq, id, notification, notification_id, receiver, integration, position, lane, turn, state, attempts, created_us, next_attempt_us, not_before_us, settled_us, last_error, cut_off, refusals, refused_by, remaining, reference, fallback_us, holder) VALUES (6, 'hk0o09cr9c-c4bb539d28e0c6a0-0-1', 4, 'hk0o09cr9c-c4bb539d28e0c6a0-0', 'ops', 'webhook', 1, '1 {}:{alertname="FlightFailed", nest="Zürich 東京 \"us\"", region="us"}', 1, 'delivered', 1, 1782993731891056, 1782993731891056, 0, 1782993731891056, '', 0, 0, '', '', '', NULL, 0);
INSERT INTO delivery (seq, id, notification, notification_id, receiver, integration, position, lane, turn, state, attempts, created_us, next_attempt_us, not_before_us, settled_us, last_error, cut_off, refusals, refused_by, remaining, reference, fallback_us, holder) VALUES (7, 'hk0o09cr9c-c4bb539d28e0c6a0-1-d790cf4f0a8f8a35-0', 5, 'hk0o09cr9c-c4bb539d28e0c6a0-1-d790cf4f0a8f8a35', 'ops', 'email', 0, '0 {}:{alertname="FlightFailed", nest="Zürich 東京 \"us\"", region="us"}', 1, 'delivered', 1, 1782994031891056, 1782994031891056, 0, 1782994031891056, '', 0, 0, '', '', '', NULL, 0);
INSERT INTO delivery (seq, id, notification, notification_id, receiver, integration, position, lane, turn, state, attempts, created_us, next_attempt_us, not_before_us, settled_us, last_error, cut_off, refusals, refused_by, remaining, reference, fallback_us, holder) VALUES (8, 'hk0o09cr9c-c4bb539d28e0c6a0-1-d790cf4f0a8f8a35-1', 5, 'hk0o09cr9c-c4bb539d28e0c6a0-1-d790cf4f0a8f8a35', 'ops', 'webhook', 1, '1 {}:{alertname="FlightFailed", nest="Zürich 東京 \"us\"", region="us"}', 1, 'delivered', 1, 1782994031891056, 1782994031891056, 0, 1782994031891056, '', 0, 0, '', '', '', NULL, 0);
INSERT INTO delivery (seq, id, notification, notification_id, receiver, integration, position, lane, turn, state, attempts, created_us, next_attempt_us, not_before_us, settled_us, last_error, cut_off, refusals, refused_by, remaining, reference, fallback_us, holder) VALUES (9, 'forward-038ac01b069e910a-1', 6, 'forward-038ac01b069e910a', 'lake', 'webhook', 1, '', 1, 'delivered', 1, 1782994031891056, 1782994031891056, 0, 1782994031891056, '', 0, 0, '', '', '', NULL, 0);
INSERT INTO delivery (seq, id, notification, notification_id, receiver, integration, position, lane, turn, state, attempts, created_us, next_attempt_us, not_before_us, settled_us, last_error, cut_off, refusals, refused_by, remaining, reference, fallback_us, holder) VALUES (10, 'digest-67edfb42eb4f5900-0', 7, 'digest-67edfb42eb4f5900', 'ops', 'email', 0, '0 digest:hourly', 1, 'delivered', 1, 1782997200000000, 1782997200000000, 0, 1782997200000000, '', 0, 0, '', '', '', NULL, 0);
INSERT INTO delivery (seq, id, notification, notification_id, receiver, integration, position, lane, turn, state, attempts, created_us, next_attempt_us, not_before_us, settled_us, last_error, cut_off, refusals, refused_by, remaining, reference, fallback_us, holder) VALUES (11, 'digest-67edfb42eb4f5900-1', 7, 'digest-67edfb42eb4f5900', 'ops', 'webhook', 1, '1 digest:hourly', 1, 'delivered', 1, 1782997200000000, 1782997200000000, 0, 1782997200000000, '', 0, 0, '', '', '', NULL, 0);
INSERT INTO delivery (seq, id, notification, notification_id, receiver, integration, position, lane, turn, state, attempts, created_us, next_attempt_us, not_before_us, settled_us, last_error, cut_off, refusals, refused_by, remaining, reference, fallback_us, holder) VALUES (12, 'forward-ad2daa9148ccc845-1', 8, 'forward-ad2daa9148ccc845', 'lake', 'webhook', 1, '', 1, 'retry', 8, 1782998222150675, 1782998424030471, 0, 0, 'HTTP 503', 0, 0, '', '', '', NULL, 0);
INSERT INTO delivery (seq, id, notification, notification_id, receiver, integration, position, lane, turn, state, attempts, created_us, next_attempt_us, not_before_us, settled_us, last_error, cut_off, refusals, refused_by, remaining, reference, fallback_us, holder) VALUES (13, 'forward-96940555ce480232-1', 9, 'forward-96940555ce480232', 'lake', 'webhook', 1, '', 1, 'retry', 9, 1782998222150675, 1782998554366352, 0, 0, 'HTTP 503', 0, 0, '', '', '', NULL, 0);
INSERT INTO delivery_count (receiver, state, part, count) VALUES ('lake', 'delivered', 0, 3);
INSERT INTO delivery_count (receiver, state, part, count) VALUES ('lake', 'leased', 0, 0);
INSERT INTO delivery_count (receiver, state, part, count) VALUES ('lake', 'pending', 0, 0);
INSERT INTO delivery_count (receiver, state, part, count) VALUES ('lake', 'retry', 0, 2);
INSERT INTO delivery_count (receiver, state, part, count) VALUES ('ops', 'delivered', 0, 8);
INSERT INTO delivery_count (receiver, state, part, count) VALUES ('ops', 'leased', 0, 0);
INSERT INTO delivery_count (receiver, state, part, count) VALUES ('ops', 'pending', 0, 0);
INSERT INTO failing_integration (receiver, position, integration, failures, since_us, last_error) VALUES ('lake', 1, 'webhook', 17, 1782998222150675, 'HTTP 503');
INSERT INTO notified_event (event, notification) VALUES (1, 3);
INSERT INTO notified_event (event, notification) VALUES (2, 4);
INSERT INTO notified_alert (alert, notification) VALUES (1, 3);
INSERT INTO notified_alert (alert, notification) VALUES (2, 4);
INSERT INTO notified_alert (alert, notification) VALUES (2, 5);
INSERT INTO forwarded_batch (first_event, receiver, notification) VALUES (1, 'lake', 1);
INSERT INTO forwarded_batch (first_event, receiver, notification) VALUES (2, 'lake', 2);
INSERT INTO forwarded_batch (first_event, receiver, notification) VALUES (3, 'lake', 6);
INSERT INTO forwarded_batch (first_event, receiver, notification) VALUES (4, 'lake', 8);
INSERT INTO forwarded_batch (first_event, receiver, notification) VALUES (5, 'lake', 9);
INSERT INTO error_seen (region, hash, first_us, last_us, flights, flight_id, bird_id) VALUES ('eu', '4818c9624be64539', 1782993720000000, 1782998220000000, 2, '08d714aa-08ab-4ecc-83c4-12642296e94c', '899');
INSERT INTO error_seen (region, hash, first_us, last_us, flights, flight_id, bird_id) VALUES ('us', '4818c9624be64539', 1782993720000000, 1782998220000000, 2, 'f46b0a7f-8273-42ae-8499-4d8f14508e01', '924');
INSERT INTO listed (region, sort, id, said) VALUES ('eu', 'member', '891', '[]');
INSERT INTO listed (region, sort, id, said) VALUES ('eu', 'nest', '', 'listed');
INSERT INTO listed (region, sort, id, said) VALUES ('eu', 'nest', '891', 'read');
INSERT INTO listed (region, sort, id, said) VALUES ('us', 'member', '918', '[]');
INSERT INTO listed (region, sort, id, said) VALUES ('us', 'nest', '', 'listed');
INSERT INTO listed (region, sort, id, said) VALUES ('us', 'nest', '918', 'read');
INSERT INTO schema_step (step, version, done_at, oldest, digest) VALUES (1, '0.1.0', '2026-11-30 08:55:47', 1, 'ea6dfd1e08e7f71e');
INSERT INTO schema_step (step, version, done_at, oldest, digest) VALUES (2, '0.1.0', '2026-11-30 08:55:47', 2, 'ef3c816837c87664');
INSERT INTO schema_step (step, version, done_at, oldest, digest) VALUES (3, '0.1.0', '2026-11-30 08:55:47', 2, 'febbebf1c053d80d');
INSERT INTO schema_step (step, version, done_at, oldest, digest) VALUES (4, '0.1.0', '2026-11-30 08:55:47', 2, 'aa3b7e9d0a5a0504');
INSERT INTO schema_step (step, version, done_at, oldest, digest) VALUES (5, '0.1.0', '2026-11-30 08:55:47', 2, 'fa1088a6cc53029f');
INSERT INTO schema_step (step, version, done_at, oldest, digest) VALUES (6, '0.1.0', '2026-11-30 08:55:47', 2, '9963769e039c5e4a');
INSERT INTO schema_step (step, version, done_at, oldest, digest) VALUES (7, '0.1.0', '2026-11-30 08:55:47', 2, 'd2a92b2589b49bc7');
INSERT INTO schema_step (step, version, done_at, oldest, digest) VALUES (8, '0.1.0', '2026-11-30 08:55:47', 2, '772000fda5bd126c');
INSERT INTO schema_step (step, version, done_at, oldest, digest) VALUES (9, '0.1.0', '2026-11-30 08:55:47', 2, 'c74206eaf6305fad');
PRAGMA application_id = 1853060215;
PRAGMA user_version = 9;
