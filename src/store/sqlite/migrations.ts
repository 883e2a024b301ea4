/**
 * The schema, as the steps that lead to it. `PRAGMA user_version` counts the steps that a store has taken; a step
 * that was released is never changed, a new one is added behind it. Each runs in a transaction of its own.
 *
 * What decides the shape: a page of entries belongs to one stream and covers a stretch of time. The rows are appended
 * as they arrive, and the keys that tell what is new begin with the stream and then the time, so that a page touches
 * few pages of the file, whether it is today's or history that many streams read side by side. A random id as the
 * key would cost a page write per row.
 */
export const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE region (
    region TEXT PRIMARY KEY,
    since_us INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE nest (
    region TEXT NOT NULL,
    nest_id TEXT NOT NULL,
    name TEXT NOT NULL,
    present INTEGER NOT NULL,
    PRIMARY KEY (region, nest_id)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE bird (
    region TEXT NOT NULL,
    bird_id TEXT NOT NULL,
    nest_id TEXT NOT NULL,
    name TEXT NOT NULL,
    status TEXT NOT NULL,
    trigger_type TEXT NOT NULL,
    present INTEGER NOT NULL,
    status_since_us INTEGER NOT NULL,
    PRIMARY KEY (region, bird_id)
  ) STRICT, WITHOUT ROWID;

  -- AUTOINCREMENT: a number is never given twice.
  CREATE TABLE stream (
    stream INTEGER PRIMARY KEY AUTOINCREMENT,
    region TEXT NOT NULL,
    feed TEXT NOT NULL,
    bird_id TEXT NOT NULL,
    cursor_us INTEGER NOT NULL,
    UNIQUE (region, feed, bird_id)
  ) STRICT;

  -- Numbered as they arrive, so that rows are only ever appended.
  CREATE TABLE event (
    event INTEGER PRIMARY KEY,
    stream INTEGER NOT NULL,
    occurred_us INTEGER NOT NULL,
    -- The last part of the key; region and feed are the stream's.
    id TEXT NOT NULL,
    type TEXT NOT NULL,
    occurred_at TEXT NOT NULL,
    observed_us INTEGER NOT NULL,
    nest_id TEXT NOT NULL,
    nest TEXT NOT NULL,
    bird_id TEXT NOT NULL,
    bird TEXT NOT NULL,
    message TEXT NOT NULL,
    attributes TEXT NOT NULL
  ) STRICT;
  -- Tells what is new, answers what concerns one stream, and finds an id, all without reading rows.
  CREATE UNIQUE INDEX event_of_stream ON event (stream, occurred_us, id);
  CREATE INDEX event_by_age ON event (occurred_us, stream);

  -- Every question about Flights concerns one stream, so the stream comes first here.
  CREATE TABLE flight (
    stream INTEGER NOT NULL,
    started_us INTEGER NOT NULL,
    id TEXT NOT NULL,
    status TEXT NOT NULL,
    open INTEGER NOT NULL,
    ends INTEGER NOT NULL,
    PRIMARY KEY (stream, started_us, id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX flight_open ON flight (stream) WHERE open = 1;
  CREATE INDEX flight_ended ON flight (started_us) WHERE open = 0;

  CREATE TABLE quarantine (
    stream INTEGER NOT NULL,
    hash BLOB NOT NULL,
    kept_us INTEGER NOT NULL,
    reason TEXT NOT NULL,
    raw TEXT NOT NULL,
    UNIQUE (stream, hash)
  ) STRICT;
  CREATE INDEX quarantine_by_age ON quarantine (kept_us);

  CREATE TABLE alert (
    alert INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    region TEXT NOT NULL,
    scope TEXT NOT NULL,
    alertname TEXT NOT NULL,
    severity TEXT NOT NULL,
    state TEXT NOT NULL,
    starts_us INTEGER NOT NULL,
    due_us INTEGER,
    -- Position among the alerts that wait to be routed; null for none.
    changed INTEGER,
    body TEXT NOT NULL
  ) STRICT;
  CREATE INDEX alert_scope ON alert (scope);
  CREATE INDEX alert_region ON alert (region, scope);
  CREATE INDEX alert_due ON alert (due_us) WHERE due_us IS NOT NULL;
  CREATE INDEX alert_changed ON alert (changed) WHERE changed IS NOT NULL;
  CREATE INDEX alert_state ON alert (state, starts_us);

  -- The events of an alert, by its number and theirs within it.
  CREATE TABLE link (
    alert INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    event INTEGER NOT NULL,
    PRIMARY KEY (alert, seq)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX link_event ON link (event);

  CREATE TABLE alert_group (
    key TEXT PRIMARY KEY,
    next_flush_us INTEGER NOT NULL,
    body TEXT NOT NULL
  ) STRICT;
  CREATE INDEX alert_group_due ON alert_group (next_flush_us);

  CREATE TABLE group_member (
    group_key TEXT NOT NULL,
    -- That of its group: route, escalation, held_back or catch_up.
    sort TEXT NOT NULL,
    alert_id TEXT NOT NULL,
    notified_seq INTEGER NOT NULL,
    notified_state TEXT NOT NULL,
    PRIMARY KEY (group_key, alert_id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX group_member_alert ON group_member (alert_id);

  -- Events wait here whole, so that retention never takes what is unsent.
  CREATE TABLE forward (
    receiver TEXT NOT NULL,
    seq INTEGER NOT NULL,
    event TEXT NOT NULL,
    PRIMARY KEY (receiver, seq)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE notification (
    seq INTEGER PRIMARY KEY,
    body TEXT NOT NULL
  ) STRICT;

  -- \`seq\` is the order of creation. \`turn\` is 1 where no earlier delivery of the same lane stands in the way: kept
  -- here so that finding work never walks over what waits behind something else.
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
    last_error TEXT NOT NULL
  ) STRICT;
  CREATE INDEX delivery_waiting ON delivery (receiver, position, next_attempt_us)
    WHERE turn = 1 AND state IN ('pending', 'retry', 'ambiguous');
  CREATE INDEX delivery_lane ON delivery (receiver, position, lane, turn)
    WHERE lane <> '' AND state IN ('pending', 'leased', 'retry', 'ambiguous');
  CREATE INDEX delivery_leased ON delivery (receiver, position, lane) WHERE state = 'leased';
  CREATE INDEX delivery_undelivered ON delivery (state) WHERE state <> 'delivered';
  CREATE INDEX delivery_settled ON delivery (settled_us) WHERE settled_us > 0;
  CREATE INDEX delivery_notification ON delivery (notification);

  -- How many deliveries there are, kept by triggers: counting a million rows would hold up everything else.
  CREATE TABLE delivery_count (
    receiver TEXT NOT NULL,
    state TEXT NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (receiver, state)
  ) STRICT, WITHOUT ROWID;
  CREATE TRIGGER delivery_counted AFTER INSERT ON delivery BEGIN
    INSERT INTO delivery_count VALUES (new.receiver, new.state, 1)
      ON CONFLICT DO UPDATE SET count = count + 1;
  END;
  CREATE TRIGGER delivery_moved AFTER UPDATE OF state ON delivery WHEN new.state <> old.state BEGIN
    UPDATE delivery_count SET count = count - 1 WHERE receiver = old.receiver AND state = old.state;
    INSERT INTO delivery_count VALUES (new.receiver, new.state, 1)
      ON CONFLICT DO UPDATE SET count = count + 1;
  END;
  CREATE TRIGGER delivery_dropped AFTER DELETE ON delivery BEGIN
    UPDATE delivery_count SET count = count - 1 WHERE receiver = old.receiver AND state = old.state;
  END;
  `,
  `
  CREATE TABLE audit (
    stream INTEGER PRIMARY KEY,
    body TEXT NOT NULL
  ) STRICT;
  `,
  `
  -- When a delivery is given to its receiver's fallback; null for never, and once that is done.
  ALTER TABLE delivery ADD COLUMN fallback_us INTEGER;
  CREATE INDEX delivery_fallback ON delivery (fallback_us) WHERE fallback_us IS NOT NULL;

  -- Tries that failed in a row; an integration that accepts has no row.
  CREATE TABLE failing_integration (
    receiver TEXT NOT NULL,
    position INTEGER NOT NULL,
    integration TEXT NOT NULL,
    failures INTEGER NOT NULL,
    since_us INTEGER NOT NULL,
    last_error TEXT NOT NULL,
    PRIMARY KEY (receiver, position, integration)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE receiver_pace (
    receiver TEXT PRIMARY KEY,
    body TEXT NOT NULL
  ) STRICT;

  CREATE TABLE nest_members (
    region TEXT NOT NULL,
    nest_id TEXT NOT NULL,
    addresses TEXT NOT NULL,
    PRIMARY KEY (region, nest_id)
  ) STRICT, WITHOUT ROWID;
  `,
  `
  CREATE TABLE silence (
    id TEXT PRIMARY KEY,
    ends_us INTEGER NOT NULL,
    body TEXT NOT NULL
  ) STRICT;
  CREATE INDEX silence_by_end ON silence (ends_us, id);

  -- Those who inhibit are asked for at every flush, by their name.
  CREATE INDEX alert_firing ON alert (alertname) WHERE state = 'firing';

  -- What was decided and is never told, with the reason.
  CREATE TABLE suppression (
    suppression INTEGER PRIMARY KEY,
    alert_id TEXT NOT NULL,
    at_us INTEGER NOT NULL,
    body TEXT NOT NULL
  ) STRICT;
  CREATE INDEX suppression_alert ON suppression (alert_id);
  CREATE INDEX suppression_by_age ON suppression (at_us);

  CREATE TABLE suppressed_event (
    event INTEGER NOT NULL,
    suppression INTEGER NOT NULL,
    PRIMARY KEY (event, suppression)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX suppressed_event_reason ON suppressed_event (suppression);
  `,
  `
  -- Which notifications tell an event: asked for rarely, so kept small. Forwarded ones have a row for each batch.
  CREATE TABLE told (
    event INTEGER NOT NULL,
    notification INTEGER NOT NULL,
    PRIMARY KEY (event, notification)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE forwarded (
    event INTEGER NOT NULL,
    receiver TEXT NOT NULL,
    notification INTEGER NOT NULL,
    PRIMARY KEY (event, receiver)
  ) STRICT, WITHOUT ROWID;

  -- Made by this program itself, and of no use outside of it.
  CREATE TABLE signing_key (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
  ) STRICT;
  `,
  `
  -- When it ended; 0 where that is not known. With it the Flights of a Bird tell how long they take.
  ALTER TABLE flight ADD COLUMN ended_us INTEGER NOT NULL DEFAULT 0;
  -- When what may be overdue is judged next.
  ALTER TABLE flight ADD COLUMN judge_us INTEGER NOT NULL DEFAULT 0;
  CREATE INDEX flight_in_air ON flight (started_us, judge_us) WHERE open = 1;
  ALTER TABLE bird ADD COLUMN judge_us INTEGER NOT NULL DEFAULT 0;
  CREATE INDEX bird_judged ON bird (judge_us) WHERE present = 1 AND status = 'active';
  `,
  `
  -- Alerts are let go of soon after their end; what they were stays here for digests, until the retention is over.
  CREATE TABLE episode (
    alert_id TEXT NOT NULL,
    starts_us INTEGER NOT NULL,
    -- When it was seen to be over.
    resolved_us INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (alert_id, starts_us)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX episode_by_age ON episode (resolved_us);

  CREATE TABLE digest (
    name TEXT PRIMARY KEY,
    body TEXT NOT NULL
  ) STRICT;
  `,
  `
  -- Counted by whoever writes deliveries, once a transaction.
  DROP TRIGGER delivery_counted;
  DROP TRIGGER delivery_moved;
  DROP TRIGGER delivery_dropped;
  -- A delivery that is leased keeps its lane's turn, so \`delivery_lane\` finds it.
  DROP INDEX delivery_leased;
  `,
  `
  -- Who of several recipients is still to be reached, as a list in JSON; empty for all.
  ALTER TABLE delivery ADD COLUMN remaining TEXT NOT NULL DEFAULT '';
  `,
  `
  -- Up to where retention has deleted what was read of a stream: read once more, it would be taken for news. Of what
  -- was deleted before this was kept, the oldest that is left tells.
  ALTER TABLE stream ADD COLUMN pruned_us INTEGER NOT NULL DEFAULT 0;
  UPDATE stream SET pruned_us = min(cursor_us, coalesce(
    iif(feed = 'flight',
      (SELECT min(started_us) FROM flight WHERE flight.stream = stream.stream AND open = 0 AND started_us > 0),
      (SELECT min(occurred_us) FROM event WHERE event.stream = stream.stream)) - 1,
    cursor_us));
  `,
  `
  -- Tells the oldest of a stream, of which there are to be no more than so many.
  CREATE INDEX quarantine_of_stream ON quarantine (stream, kept_us);
  `,
  `
  -- Since when it is no longer listed; of those that went before this was kept, it is taken to be now.
  ALTER TABLE nest ADD COLUMN gone_us INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE bird ADD COLUMN gone_us INTEGER NOT NULL DEFAULT 0;
  UPDATE nest SET gone_us = unixepoch() * 1000000 WHERE present = 0;
  UPDATE bird SET gone_us = unixepoch() * 1000000 WHERE present = 0;
  CREATE INDEX nest_gone ON nest (gone_us) WHERE present = 0;
  CREATE INDEX bird_gone ON bird (gone_us) WHERE present = 0;
  CREATE INDEX bird_of_nest ON bird (region, nest_id);
  `,
];
