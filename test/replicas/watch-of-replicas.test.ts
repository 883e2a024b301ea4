/** Alerts about the watch itself with several replicas: one of them raises and ends them, from what all report. */
import { expect, test } from 'vitest';
import { openReplicas } from './open-replicas.ts';

test('an impairment is reported once by the one that alerts, and neither ended nor raised again by a successor [long]', async () => {
  const { clock, worlds, replicas, said, ownerOf } = await openReplicas(['a', 'b']);
  await clock.advance(5 * 60_000);
  const alerting = (await ownerOf('alerting'))!;
  const other = alerting === 'a' ? 'b' : 'a';
  expect(said()).toEqual([`${alerting} firing eu`]);
  for (const { daemon } of replicas.values()) {
    expect((await daemon.health()).impairments).toMatchObject([{ reason: 'no_birds', region: 'eu' }]);
  }

  replicas.get(alerting)!.stop.abort();
  await clock.advance(10 * 60_000);
  await replicas.get(alerting)!.ended;
  expect(await ownerOf('alerting')).toBe(other);
  expect(await ownerOf('region eu')).toBe(other);
  expect(said()).toHaveLength(1);

  const eu = worlds.get('eu')!;
  eu.addBird(eu.addNest({ name: 'Sales' }).id, { name: 'Sort leads', triggerType: 'manual' });
  await clock.advance(5 * 60_000);
  expect(said()).toEqual([`${alerting} firing eu`, `${other} resolved eu`]);
});

test('a configuration that one replica refuses is an alert of the one that alerts, with its name [long]', async () => {
  const { clock, worlds, replicas, said, ownerOf } = await openReplicas(['a', 'b']);
  const eu = worlds.get('eu')!;
  eu.addBird(eu.addNest({ name: 'Sales' }).id, { name: 'Sort leads', triggerType: 'manual' });
  await clock.advance(5 * 60_000);
  expect(said()).toEqual([]);
  const alerting = (await ownerOf('alerting'))!;
  const other = alerting === 'a' ? 'b' : 'a';
  const reload = (mistakes: readonly string[]) =>
    replicas
      .get(other)!
      .daemon.hear({ what: 'config_reload', success: mistakes.length === 0, mistakes, atUs: clock.nowUs() });
  reload(['n.yaml:3:1: rout: unknown key']);
  await clock.advance(60_000);
  expect(said()).toEqual([`${alerting} firing all`]);
  for (const { daemon } of replicas.values()) {
    expect((await daemon.health()).impairments).toMatchObject([
      {
        ...{ reason: 'config_refused', replica: other },
        summary: `The configuration file of replica ${other} has a mistake at n.yaml:3:1: rout: unknown key`,
      },
    ]);
  }
  reload([]);
  await clock.advance(60_000);
  expect(said()).toEqual([`${alerting} firing all`, `${alerting} resolved all`]);
});

test('the log of a Flight comes from the replica that reads its region, and the others say which that is [long]', async () => {
  const { clock, worlds, replicas, ownerOf } = await openReplicas(['a', 'b']);
  const eu = worlds.get('eu')!;
  const nest = eu.addNest({ name: 'Sales' });
  const bird = eu.addBird(nest.id, { name: 'Sort leads', triggerType: 'manual' });
  const { id } = eu.startFlight(bird.id, { endsAs: 'failed', fliesForMs: 20_000 });
  const place = { region: 'eu', nestId: nest.id, birdId: bird.id, flightId: id.toLowerCase() };
  async function asked(name: string) {
    const answer = replicas.get(name)!.daemon.flightLog(place);
    await clock.advance(5_000);
    return answer;
  }
  expect(await replicas.get('a')!.daemon.flightLog(place)).toEqual({
    refused: 'No replica reads this region now: ask again in a moment.',
  });
  await clock.advance(5 * 60_000);
  const owner = (await ownerOf('region eu'))!;
  const other = owner === 'a' ? 'b' : 'a';
  let log = await asked(owner);
  // Polls come first.
  for (let tries = 0; 'refused' in log && tries < 30; tries += 1) log = await asked(owner);
  expect(log).toHaveProperty('steps');
  expect(await asked(other)).toEqual({
    refused: `Replica ${owner} reads this region: ask for the log at its own address.`,
  });
});

test('configurations that differ for a quarter of an hour raise an alert, until they are equal [long]', async () => {
  const two = await openReplicas(['a', 'b']);
  const { clock, worlds, replicas, follow } = two;
  const eu = worlds.get('eu')!;
  eu.addBird(eu.addNest({ name: 'Sales' }).id, { name: 'Sort leads', triggerType: 'manual' });
  await clock.advance(20 * 60_000);
  const found = async (name: string) => {
    const { impairments } = await replicas.get(name)!.daemon.health();
    return impairments.map(({ reason, replica }) => `${reason} ${replica}`);
  };
  const more = 'rules: [{ kind: FlightFailed, threshold: 7 }]';
  const reads = async (name: string) => {
    const following = follow(name, more);
    await clock.advance(60_000);
    await following;
  };
  await reads('b');
  await clock.advance(10 * 60_000);
  expect([await found('a'), await found('b')]).toEqual([[], []]);
  await clock.advance(6 * 60_000);
  expect([await found('a'), await found('b')]).toEqual([['configs_differ a'], ['configs_differ a']]);
  await reads('a');
  await clock.advance(60_000);
  expect([await found('a'), await found('b')]).toEqual([[], []]);
  const said = two.said().filter((one) => one.endsWith(' all'));
  expect(said.map((one) => one.split(' ')[1])).toEqual(['firing', 'resolved']);
});

test('alerts of a region that one replica does not know continue while another reads it, and no longer [long]', async () => {
  const two = await openReplicas(['a', 'b']);
  const { clock, worlds, heard, follow, ownerOf } = two;
  const us = worlds.get('us')!;
  const sales = us.addBird(us.addNest({ name: 'Sales' }).id, { name: 'Sort leads', triggerType: 'manual' });
  await clock.advance(5 * 60_000);
  const said = () =>
    heard.flatMap(({ one }) =>
      one.what === 'alert' && one.alertname === 'FlightFailed' ? [`${one.state} ${one.region}`] : [],
    );
  const fails = async (birdId: string) => {
    us.endFlight(us.startFlight(birdId).id, 'failed', { errorMessages: 'The TMS refused the job' });
    await clock.advance(5 * 60_000);
  };
  const reads = async (name: string, regions: readonly string[], more = '') => {
    const following = follow(name, more, regions);
    await clock.advance(60_000);
    await following;
  };
  const [first] = us.birds.keys();
  await fails(first!);
  expect(said()).toEqual(['firing us']);
  await reads('a', ['eu']);
  // A replica that gets a new configuration gives alerting back.
  for (let m = 1; (await ownerOf('alerting')) !== 'a' && m < 10; m += 1)
    await reads('b', ['eu', 'us'], `rules: [{ kind: FlightFailed, window: ${m}m }]`);
  await fails(sales.id);
  expect([await ownerOf('alerting'), await ownerOf('region us')]).toEqual(['a', 'b']);
  expect(said()).toEqual(['firing us', 'firing us']);
  await reads('b', ['eu']);
  await clock.advance(20 * 60_000);
  expect(said().slice(2)).toEqual(['resolved us', 'resolved us']);
});
