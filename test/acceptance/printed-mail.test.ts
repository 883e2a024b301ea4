/**
 * A printed mail: from its text alone, everything known about its subject is found in two steps. The daemon, the page
 * and the command are the real ones.
 */
import { expect, test } from 'vitest';
import { mailMessage } from '../../src/channels/email/mail-message.ts';
import { nestwatch } from '../cli/test-io.ts';
import { read } from '../web/pages/read.ts';
import { aStatus } from '../web/sample.ts';
import { serve } from '../web/served.ts';
import { createStage, type Stage } from './stage.ts';
import { stageConfig } from './stage-config.ts';

const BIRDS = ['Translate blog', 'Contracts', 'Post news'];

let stage: Stage;

/** The texts of the mails after these Birds failed, and the daemon that their readers ask. */
async function printed(failing: readonly string[]) {
  stage = await createStage({ regions: ['eu'], nests: { Marketing: BIRDS } });
  await stage.minutesPass(2);
  const world = stage.eu;
  for (const name of failing) {
    const flight = world.startFlight(stage.bird(name));
    world.endFlight(flight.id, 'failed', { errorMessages: `The TMS refused the job of ${name}` });
  }
  await stage.minutesPass(3);
  const { store, clock } = stage;
  const alerting = stageConfig(['eu']);
  const { web, ask } = await serve({ store, clock, alerting, status: () => aStatus({ regions: [] }) });
  const paper = stage.mails.map(({ notification }) => mailMessage(notification, web.url, undefined).text);
  return { paper: paper.join('\n'), web, ask, clock };
}

/** The short ids as printed, whatever surrounds them. */
const shortIds = (text: string) =>
  [...text.matchAll(/\b[Ee]vent:? ([0-9a-z]{6}-[0-9a-z]{3})\b/g)].map(([, id]) => id!);

test.each([
  ['one failure', ['Translate blog']],
  ['several failures', BIRDS],
])('of %s leads to the explanation of each event, by command and by page [long]', async (_, failing) => {
  const { paper, web, ask, clock } = await printed(failing);
  const found = shortIds(paper);
  expect(found).toHaveLength(failing.length);
  const explained = new Set<string>();
  for (const id of found) {
    // As a person might type it: in capitals, without the hyphen.
    for (const typed of [id, id.toUpperCase().replace('-', '')]) {
      const { exit, stdout } = await nestwatch(['explain', typed, '--url', web.url], { clock });
      expect(exit).toBe(0);
      const bird = failing.find((name) => stdout.includes(`The TMS refused the job of ${name}`))!;
      expect(stdout).toContain('FlightFailed');
      expect(stdout).toMatch(/ops/);
      explained.add(bird);
      // The search of every page accepts it, and leads directly to the event.
      const { status, headers } = await ask(`/search?text=${typed}`);
      expect(status).toBe(303);
      const page = await ask(new URL(String(headers.location), `${web.url}/search`).pathname);
      expect(page.status).toBe(200);
      expect(read(page.body)).toContain(`The TMS refused the job of ${bird}`);
    }
  }
  expect([...explained].toSorted()).toEqual(failing.toSorted());
});

test('has links to each alert, which are explained as well [long]', async () => {
  const { paper, web, ask, clock } = await printed(BIRDS);
  const addresses = [...new Set(paper.match(/http:\S+\/alerts\/\S+/g))];
  expect(addresses).toHaveLength(3);
  for (const address of addresses) {
    expect((await ask(new URL(address).pathname)).status).toBe(200);
    const { exit, stdout } = await nestwatch(['explain', address, '--url', web.url], { clock });
    expect(exit).toBe(0);
    expect(stdout).toMatch(/The TMS refused the job of/);
  }
});
