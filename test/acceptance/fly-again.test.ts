/** A person flies a Bird again: one request for each wish, and what came of it is known afterwards. */
import { expect, test } from 'vitest';
import { linksOf } from '../../src/channels/message/frame/links.ts';
import { teamsBody } from '../../src/channels/teams/teams-channel.ts';
import { withAcknowledgeUrls } from '../../src/delivery/attempt.ts';
import { type Action, isOpen } from '../../src/domain/action/action.ts';
import type { GroupNotification } from '../../src/domain/grouping/notification.ts';
import { NestwatchError } from '../../src/errors.ts';
import { createAcknowledgeLinks } from '../../src/operator/acknowledge-link.ts';
import { secret } from '../../src/secret.ts';
import { nestwatch, tempFile } from '../cli/test-io.ts';
import { type Again, openAgain } from './fly-stage.ts';

const actionEvents = async ({ stage }: Again) =>
  (await stage.store.transaction((tx) => tx.events.page({ feed: 'action', limit: 100 }))).events.toReversed();

/** What a command ends with, while time passes. */
async function ended({ stage }: Again, running: ReturnType<typeof nestwatch>) {
  let isRunning = true;
  const end = running.finally(() => {
    isRunning = false;
  });
  while (isRunning) {
    await new Promise((resolve) => setImmediate(resolve));
    await stage.secondsPass(0.5);
  }
  return end;
}

test('a manual Bird that failed is started once, the write is recorded, and the event leads to the new Flight [long]', async () => {
  const again = await openAgain();
  const { stage, birds, posts, web } = again;
  const failed = again.fail(birds.manual!);
  await stage.minutesPass(2);
  const { status, json } = await again.wish(birds.manual!, 'flyer', {
    flight: failed,
    comment: 'app is back',
  });
  expect([status, json.action.state]).toEqual([202, 'wanted']);
  await stage.minutesPass(1);
  expect(posts).toEqual([expect.stringMatching(new RegExp(`/birds/${birds.manual}$`))]);
  expect(await again.eventTypes()).toEqual(['action.asked', 'action.done']);
  const [, done] = await actionEvents(again);
  const flight = [...stage.worlds.eu!.birds.get(birds.manual!)!.flights.values()].at(-1)!;
  expect(done!.attributes).toMatchObject({
    ...{
      flight_id: flight.id.toLowerCase(),
      failed_flight_id: failed,
      initiator: 'Ann',
      comment: 'app is back',
    },
  });
  expect(done!.message).toMatch(/^Flown again at .* by Ann\. A Flight started at .*\. Why: app is back$/);
  const { writes } = await stage.store.transaction((tx) => tx.writes.page({ limit: 10 }));
  expect(writes).toEqual([
    expect.objectContaining({
      who: 'flyer',
      action: `POST /api/v1/birds/eu/${birds.manual}/fly`,
      status: 202,
    }),
  ]);
  expect(stage.happenings).toContainEqual(
    expect.objectContaining({ what: 'action', region: 'eu', action: 'fly_again', outcome: 'done' }),
  );
  const page = await web.ask(`/birds/eu/${birds.manual}`, { authorization: 'Bearer token of flyer' });
  expect(page.body).toContain('Flown again at');
});

test('the scope `write` does not start Birds, and what it tried is recorded [long]', async () => {
  const again = await openAgain();
  const { status, json } = await again.wish(again.birds.manual!, 'writer');
  expect([status, json.error]).toEqual([403, 'This needs the scope fly; writer has read, write.']);
  await again.stage.minutesPass(1);
  expect(again.posts).toEqual([]);
  const { writes } = await again.stage.store.transaction((tx) => tx.writes.page({ limit: 10 }));
  expect(writes.map(({ who, status }) => [who, status])).toEqual([['writer', 403]]);
});

test('Birds that start by events or a schedule, or are suspended, have no button but the reason [long]', async () => {
  const again = await openAgain();
  const { stage, birds, web } = again;
  for (const [trigger, which] of [
    ['event', 'Event'],
    ['scheduled', 'Scheduled'],
  ] as const) {
    const flight = again.fail(birds[trigger]!);
    await stage.minutesPass(6);
    const why = `${which} Birds cannot be started from outside: use Fly again in the service.`;
    const { status, json } = await again.wish(birds[trigger]!);
    expect([status, json.error]).toEqual([409, why]);
    for (const path of [`/birds/eu/${birds[trigger]}`, `/flights/eu/${flight}`]) {
      const { body } = await web.ask(path, { authorization: 'Bearer token of flyer' });
      expect(body).toContain(why);
      expect(body).not.toContain('href="../../fly?');
    }
  }
  again.eu.suspend(birds.manual!);
  await stage.minutesPass(6);
  expect((await again.wish(birds.manual!)).json.error).toMatch(/^Suspended Birds cannot be started/);
  expect(again.posts).toEqual([]);
});

test('an answer 500 after the Flight was started is unknown, names the probable Flight, and is never repeated [long]', async () => {
  const again = await openAgain({
    async onPost(_request, pass) {
      return { ...(await pass()), status: 500 };
    },
  });
  await again.wish(again.birds.manual!);
  await again.stage.minutesPass(10);
  await again.stage.restart();
  await again.stage.minutesPass(10);
  expect(again.posts).toHaveLength(1);
  expect(await again.eventTypes()).toEqual(['action.asked', 'action.unknown']);
  const [, unknown] = await actionEvents(again);
  expect(unknown!.message).toMatch(
    /^Asked at .* by Ann; the service answered 500\. A Flight started at .*, probably this one\.$/,
  );
  expect(unknown!.attributes.flight_id).toEqual(expect.any(String));
});

test('a broken connection before the service did anything is unknown, and no Flight is made up [long]', async () => {
  const again = await openAgain({
    onPost: () => Promise.reject(new NestwatchError('unreachable', 'no answer: ECONNRESET')),
  });
  await again.wish(again.birds.manual!);
  await again.stage.minutesPass(20);
  expect(again.posts).toHaveLength(1);
  const [, unknown] = await actionEvents(again);
  expect(unknown!.message).toMatch(
    /the service did not answer\. No Flight was seen to start within 2 minutes\.$/,
  );
  expect(unknown!.attributes.flight_id).toBeUndefined();
});

test('a page for people is no answer of the service, also with status 200 [long]', async () => {
  const again = await openAgain({
    onPost: async () => ({ status: 200, headers: {}, body: '\n<!doctype html><title>Sign in</title>' }),
  });
  await again.wish(again.birds.manual!);
  await again.stage.minutesPass(20);
  expect(again.posts).toHaveLength(1);
  const [, unknown] = await actionEvents(again);
  expect(unknown).toMatchObject({
    type: 'action.unknown',
    message: expect.stringMatching(
      /by Ann; a page for people answered instead of the service\. No Flight was seen to start within 2 minutes\.$/,
    ),
  });
});

test('a refusal tells the words of the service', async () => {
  const again = await openAgain({
    onPost: async () => ({
      ...{ status: 403, headers: { 'content-type': 'application/problem+json' } },
      body: JSON.stringify({ title: 'Forbidden', detail: 'The token may not fly Birds' }),
    }),
  });
  await again.wish(again.birds.manual!);
  await again.stage.minutesPass(1);
  expect(await again.eventTypes()).toEqual(['action.asked', 'action.refused']);
  const [, refused] = await actionEvents(again);
  expect(refused!.message).toMatch(/by Ann: The service refused: The token may not fly Birds$/);
});

test('a wish that is sent twice is one, and another one is refused while the first is open', async () => {
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
  const again = await openAgain({
    async onPost(_request, pass) {
      await answered;
      return pass();
    },
  });
  const id = '5f0c0000-0000-4000-8000-000000000001';
  const first = await again.wish(again.birds.manual!, 'flyer', { id });
  const second = await again.wish(again.birds.manual!, 'flyer', { id });
  const other = await again.wish(again.birds.manual!);
  expect([first.status, second.status, other.status]).toEqual([202, 202, 409]);
  expect(other.json.error).toMatch(/^Nothing was started\. .* by Ann\.$/);
  const path = `/fly?region=eu&bird=${again.birds.manual}`;
  const fields = { author: 'Bob', comment: '', wish: 'another', seen: '' };
  const page = await again.web.submit(path, fields, { authorization: 'Bearer token of flyer' });
  expect(page.status).toBe(400);
  expect(page.body).toContain('Nothing was started. ');
  answer();
  await again.stage.minutesPass(2);
  expect(again.posts).toHaveLength(1);
  expect((await again.wish(again.birds.manual!)).status).toBe(202);
});

test('a wish with the id of one for another Bird is refused, and so is one about a Flight that is not of the Bird', async () => {
  const again = await openAgain();
  const { birds } = again;
  const id = '5f0c0000-0000-4000-8000-000000000001';
  const flight = again.fail(birds.event!);
  await again.stage.minutesPass(6);
  const unknown = '0b0c0000-0000-4000-8000-000000000002';
  for (const other of [flight, unknown]) {
    const { status, json } = await again.wish(birds.manual!, 'flyer', { id, flight: other });
    const why = 'No such Flight of this Bird is stored; /api/v1/flights lists them.';
    expect([status, json.error]).toEqual([404, why]);
  }
  expect((await again.wish(birds.manual!, 'flyer', { id })).status).toBe(202);
  const { status, json } = await again.wish(birds.event!, 'flyer', { id });
  expect([status, json.error]).toEqual([
    409,
    'Nothing was started: a wish for another Bird, By manual, has this id.',
  ]);
});

test('what was asked and not answered when the process died is unknown; what was not asked is asked, or refused if it is old [long]', async () => {
  const again = await openAgain({
    storePath: `${process.env.TMPDIR ?? '/tmp'}/fly-${process.pid}-${Date.now()}.db`,
  });
  const { stage, birds } = again;
  const nowUs = stage.clock.nowUs();
  const wish: Action = {
    ...{ id: '', name: 'fly_again', state: 'wanted', by: ['Ann'], rule: '', comment: '', reason: '' },
    ...{ region: 'eu', nestId: '1', nest: 'Prod EU', birdId: '', bird: '', failedFlightId: '' },
    ...{ wantedAtUs: nowUs, askedAtUs: 0, settledAtUs: 0 },
  };
  const { nestId } = (await stage.store.transaction((tx) => tx.birds.find('eu', birds.manual!)))!;
  await stage.restart(async () => {});
  await again.stage.store.transaction(async (tx) => {
    const seeks = { afterUs: nowUs, untilUs: nowUs + 120e6 };
    await tx.actions.add({
      ...{ ...wish, id: 'a', birdId: birds.event!, state: 'asked', askedAtUs: nowUs, seeks },
    });
    await tx.actions.add({ ...wish, id: 'b', nestId, birdId: birds.manual!, state: 'wanted' });
    await tx.actions.add({
      ...{ ...wish, id: 'c', birdId: birds.scheduled!, state: 'wanted', wantedAtUs: nowUs - 121e6 },
    });
  });
  await stage.restart();
  await stage.minutesPass(20);
  expect(again.posts).toEqual([expect.stringMatching(new RegExp(`/birds/${birds.manual}$`))]);
  const states = await again.stage.store.transaction(async (tx) =>
    Promise.all(['a', 'b', 'c'].map(async (id) => (await tx.actions.find(id))!.state)),
  );
  expect(states).toEqual(['unknown', 'done', 'refused']);
});

test('what is open when the region may fly no more ends all the same, and nothing is started [long]', async () => {
  const again = await openAgain();
  const { stage, birds } = again;
  await stage.follows((config) => ({
    ...config,
    regions: config.regions.map(({ fly: _, ...region }) => region),
  }));
  // The page in front takes wishes a little longer than the region is read with `fly`.
  const nowUs = stage.clock.nowUs();
  const seeks = { afterUs: nowUs - 2e6, untilUs: nowUs + 120e6 };
  const wish: Action = {
    ...{ id: '', name: 'fly_again', state: 'wanted', by: ['Ann'], rule: '', comment: '', reason: '' },
    ...{ region: 'eu', nestId: '1', nest: 'Prod EU', birdId: '', bird: '', failedFlightId: '' },
    ...{ wantedAtUs: nowUs, askedAtUs: 0, settledAtUs: 0 },
  };
  const open: Action[] = [
    { ...wish, id: 'wanted', birdId: birds.manual! },
    { ...wish, id: 'asked', birdId: birds.event!, state: 'asked', askedAtUs: nowUs, seeks },
    { ...wish, id: 'done', birdId: birds.scheduled!, state: 'done', askedAtUs: nowUs, seeks },
  ];
  await stage.store.transaction((tx) => tx.actions.put(open));
  again.eu.startFlight(birds.scheduled!);
  await stage.minutesPass(20);
  expect(again.posts).toEqual([]);
  const ends = await stage.store.transaction((tx) => Promise.all(open.map(({ id }) => tx.actions.find(id))));
  expect(ends).toMatchObject([
    { state: 'refused', reason: 'The region may not start Birds any more.' },
    { state: 'unknown' },
    { state: 'done', newFlight: { startedAtUs: expect.any(Number) } },
  ]);
  expect(ends.filter((one) => isOpen(one!))).toEqual([]);
});

test('opening the page that asks changes nothing; sending its form twice starts one Flight [long]', async () => {
  const again = await openAgain();
  const { stage, birds, web } = again;
  const flight = again.fail(birds.manual!);
  await stage.minutesPass(2);
  const headers = { authorization: 'Bearer token of flyer' };
  const { body: birdPage } = await web.ask(`/birds/eu/${birds.manual}`, headers);
  const query = /href="\.\.\/\.\.\/(fly\?[^"]+)"/.exec(birdPage)?.[1]?.replaceAll('&amp;', '&');
  expect(query).toBe(`fly?region=eu&bird=${birds.manual}&flight=${flight}`);
  const { body } = await web.ask(`/${query}`, headers);
  expect(body).toContain('This starts a new Flight of By manual from its beginning.');
  expect(body).toContain('The interface starts Birds with a manual trigger only.');
  const wish = /name="wish" value="([^"]+)"/.exec(body)![1]!;
  await stage.minutesPass(1);
  expect(again.posts).toEqual([]);
  const fields = { author: 'Ann', comment: 'once more', wish };
  const sent = await Promise.all([1, 2].map(() => web.submit(`/${query}`, fields, headers)));
  expect(sent.map(({ status }) => status)).toEqual([303, 303]);
  const foreign = { ...headers, origin: 'https://evil.example' };
  expect((await web.submit(`/${query}`, fields, foreign)).status).toBe(403);
  await stage.minutesPass(1);
  expect(again.posts).toHaveLength(1);
  const other = await web.ask(`/${query}`, { authorization: 'Bearer token of writer' });
  expect(other.body).toContain('writer needs the scope');
  expect(other.body).not.toContain('name="wish"');
});

test('the page that asks says that a failed Flight was flown again already, and what is in the air, and lets people do it', async () => {
  const again = await openAgain();
  const { stage, birds, web } = again;
  const flight = again.fail(birds.manual!);
  await stage.minutesPass(2);
  const path = `/fly?region=eu&bird=${birds.manual}&flight=${flight}`;
  const headers = { authorization: 'Bearer token of flyer' };
  const open = () => web.ask(path, headers);
  const hints = ['This failed Flight was flown again already: Flown again at', 'is in the air since'];
  const unaware = (await open()).body;
  for (const hint of hints) expect(unaware).not.toContain(hint);
  await again.wish(birds.manual!, 'flyer', { flight });
  await stage.minutesPass(2);
  const send = (page: string) => {
    const field = (name: string) => new RegExp(`name="${name}" value="([^"]*)"`).exec(page)![1]!;
    const fields = { author: 'Bob', comment: '', wish: field('wish'), seen: field('seen') };
    return web.submit(path, fields, headers);
  };
  const refused = await send(unaware);
  expect([refused.status, again.posts.length]).toEqual([400, 1]);
  for (const hint of [...hints, 'Nothing was started.', 'name="wish"']) expect(refused.body).toContain(hint);
  expect((await send((await open()).body)).status).toBe(303);
});

test('a mail and a card about a failed manual Bird link to the pages that ask; a scanner that follows the links does nothing [long]', async () => {
  const again = await openAgain();
  const { stage, birds, web } = again;
  const flight = again.fail(birds.manual!);
  await stage.minutesPass(3);
  const [mail] = stage.mails;
  const signed = createAcknowledgeLinks(secret('a key'), web.web.url);
  const told = withAcknowledgeUrls(mail!.notification, signed) as GroupNotification;
  const links = linksOf(told, web.web.url);
  const asks = `${web.web.url}/fly?region=eu&bird=${birds.manual}&flight=${flight}`;
  expect(links).toContainEqual({ text: 'Fly again', url: asks, action: 'fly_again' });
  expect(links.map(({ text }) => text)).toEqual(
    expect.arrayContaining(['Acknowledge', 'Fly again', 'Silence']),
  );
  const [card] = teamsBody(told, web.web.url).attachments;
  expect(card.content.actions).toEqual(
    links.map(({ text, url }) => ({ type: 'Action.OpenUrl', title: text, url })),
  );
  for (const { text, url } of links) {
    const { pathname, search } = new URL(url);
    const follow = (method: string, headers = {}) => web.ask(pathname + search, headers, method);
    const { status } = await follow('GET', { authorization: 'Bearer token of flyer' });
    expect(status).toBe(200);
    expect((await follow('HEAD', { authorization: 'Bearer token of writer' })).status).toBe(200);
    expect((await follow('GET')).status).toBe(text === 'Acknowledge' ? 200 : 401);
  }
  const changed = await stage.store.transaction(async (tx) => [
    ...(await tx.silences.list()),
    ...(await tx.actions.ofBird('eu', birds.manual!, 10)),
    ...(await tx.writes.page({ limit: 10 })).writes,
  ]);
  expect(changed).toEqual([]);
  again.fail(birds.event!);
  await stage.minutesPass(8);
  const ofEvent = stage.mails.find(
    ({ notification }) => notification.alerts[0]?.labels.bird_id === birds.event,
  );
  expect(linksOf(ofEvent!.notification, '').map(({ text }) => text)).not.toContain('Fly again');
  expect(again.posts).toEqual([]);
});

test('the command says how to name one of several Birds', async () => {
  const { stage, web } = await openAgain();
  const token = tempFile('token', 'token of flyer');
  const line = ['birds', 'fly', 'By', '--url', web.web.url, '--token-file', token, '--author', 'Ann'];
  const { exit, stderr } = await nestwatch(line, { clock: stage.clock });
  expect(exit).toBe(2);
  expect(stderr).toContain('several Birds fit: give an id, and --region where it is of several');
});

test('the command starts a Bird and says what came of it; for others it exits with 4 and the reason [long]', async () => {
  const again = await openAgain();
  const { stage, birds, web, posts } = again;
  const token = tempFile('token', 'token of flyer');
  const fly = (bird: string, ...more: string[]) =>
    nestwatch(
      ['birds', 'fly', bird, '--url', web.web.url, '--token-file', token, '--author', 'Ann', ...more],
      {
        clock: stage.clock,
      },
    );
  const refused = await fly('By event', '--yes');
  expect(refused).toMatchObject({ exit: 4, stdout: '' });
  expect(refused.stderr).toBe(
    'nestwatch: By event: Event Birds cannot be started from outside: use Fly again in the service.\n',
  );
  expect((await fly('By manual')).exit).toBe(2);
  expect(posts).toEqual([]);
  const done = await ended(again, fly(birds.manual!, '--yes', '--region', 'eu'));
  expect(done).toMatchObject({ exit: 0, stderr: '' });
  expect(done.stdout).toMatch(/^By manual: Flown again at .* by Ann\. A Flight started at .*\.\n$/);
  expect(posts).toHaveLength(1);
});

test('the command flies the last failed Flight again, and says before it asks that it was, and what is in the air', async () => {
  const again = await openAgain();
  const { stage, birds, web, posts } = again;
  const flight = again.fail(birds.manual!);
  await stage.minutesPass(2);
  const token = tempFile('token', 'token of flyer');
  const line = ['birds', 'fly', 'By manual', '--url', web.web.url, '--token-file', token, '--author', 'Ann'];
  const asked = () => nestwatch(line, { clock: stage.clock, typed: 'n\n' });
  expect((await asked()).stderr).toMatch(
    /^This starts a new Flight of By manual from its beginning\.\nDo it\?.*nestwatch: nothing was done\n$/,
  );
  expect(await ended(again, nestwatch([...line, '--yes'], { clock: stage.clock }))).toMatchObject({
    exit: 0,
  });
  const [action] = await stage.store.transaction((tx) => tx.actions.ofBird('eu', birds.manual!, 1));
  expect(action!.failedFlightId).toBe(flight);
  expect((await asked()).stderr).toMatch(
    /^Its last failed Flight was flown again already: Flown again at .* by Ann\..*\nA Flight of it is in the air since .*\.\nThis starts/,
  );
  expect(posts).toHaveLength(1);
});

test('the command exits with 4 if nestwatch ends before it has said what came of it', async () => {
  const again = await openAgain();
  const { stage, birds, web } = again;
  const token = tempFile('token', 'token of flyer');
  const running = nestwatch(
    ['birds', 'fly', 'By manual', '--url', web.web.url, '--token-file', token, '--author', 'Ann', '--yes'],
    { clock: stage.clock },
  );
  const wanted = () => stage.store.transaction((tx) => tx.actions.ofBird('eu', birds.manual!, 1));
  while ((await wanted()).length === 0) await new Promise((resolve) => setImmediate(resolve));
  await web.web.close();
  const done = await ended(again, running);
  expect(done).toMatchObject({ exit: 4, stdout: '' });
  expect(done.stderr).toMatch(
    /^nestwatch: By manual: it is not known whether it was started, so look at its Flights first: /,
  );
});

test('rules are paused by whoever may write, and resumed by whoever may fly', async () => {
  const { web, stage } = await openAgain();
  const send = (what: string, by: string) =>
    web.post<unknown>(
      `/api/v1/actions/${what}`,
      { author: 'Ann' },
      { authorization: `Bearer token of ${by}` },
    );
  const paused = () => stage.store.transaction((tx) => tx.actions.paused());
  expect((await send('pause', 'writer')).status).toBe(200);
  expect(await paused()).toEqual({ atUs: stage.clock.nowUs(), by: 'Ann' });
  const { body } = await web.ask('/', { authorization: 'Bearer token of flyer' });
  expect(body).toContain('paused by Ann');
  expect((await send('resume', 'writer')).status).toBe(403);
  expect((await send('resume', 'flyer')).status).toBe(200);
  expect(await paused()).toBeUndefined();
});
