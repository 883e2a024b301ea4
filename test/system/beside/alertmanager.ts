/** Plays a story to a real Alertmanager, in real time. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { setTimeout as wait } from 'node:timers/promises';
import { configOf, type Heard, heard, type Step, type Story } from './story.ts';

export async function playToAlertmanager(story: Story): Promise<Heard[]> {
  const folder = mkdtempSync(join(tmpdir(), 'nestwatch-beside-'));
  const calls: { receiver: string; atMs: number; body: string }[] = [];
  const receiver = createServer(async (request, response) => {
    const atMs = performance.now();
    calls.push({ receiver: request.url!.slice(1), atMs, body: await text(request) });
    response.end();
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  const { port } = receiver.address() as AddressInfo;
  const file = join(folder, 'alertmanager.yml');
  writeFileSync(file, configOf(story, port));
  const program = spawn(
    'prometheus-alertmanager',
    [
      `--config.file=${file}`,
      `--storage.path=${folder}`,
      '--web.listen-address=127.0.0.1:0',
      '--cluster.listen-address=',
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  try {
    const url = await listening(program.stderr);
    const beganMs = performance.now();
    const starts = new Map<string, string>();
    const silences: string[] = [];
    for (const step of story.steps) {
      await wait(Math.max(0, beganMs + step.at * 1000 - performance.now()));
      await take(url, step, starts, silences);
    }
    await wait(Math.max(0, beganMs + story.lasts * 1000 - performance.now()));
    return calls.map(({ receiver: name, atMs, body }) => heard(name, (atMs - beganMs) / 1000, body));
  } finally {
    // Alertmanager writes its state when it ends.
    const ended = once(program, 'exit');
    program.kill();
    await ended;
    receiver.close();
    receiver.closeAllConnections();
    rmSync(folder, { recursive: true });
  }
}

async function take(url: string, step: Step, starts: Map<string, string>, silences: string[]): Promise<void> {
  const now = new Date().toISOString();
  const alerts = [...(step.fire ?? []), ...(step.resolve ?? [])].map((labels) => {
    const key = JSON.stringify(labels);
    if (step.fire?.includes(labels)) starts.set(key, now);
    const isOver = step.resolve?.includes(labels);
    return { labels, startsAt: starts.get(key) ?? now, ...(isOver && { endsAt: now }) };
  });
  if (alerts.length > 0) await call(`${url}/api/v2/alerts`, 'POST', alerts);
  if (step.silence) {
    const body = {
      matchers: step.silence,
      startsAt: now,
      endsAt: new Date(Date.parse(now) + 3_600_000).toISOString(),
      createdBy: 'story',
      comment: 'story',
    };
    const { silenceID } = (await call(`${url}/api/v2/silences`, 'POST', body)) as { silenceID: string };
    silences.push(silenceID);
  }
  if (step.expire) {
    for (const id of silences.splice(0)) await call(`${url}/api/v2/silence/${id}`, 'DELETE');
  }
}

async function call(url: string, method: string, body?: unknown): Promise<unknown> {
  const response = await fetch(url, {
    method,
    headers: { 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const answer = await response.text();
  if (!response.ok) throw new Error(`Alertmanager answered ${response.status}: ${answer}`);
  return answer === '' ? undefined : JSON.parse(answer);
}

/** Alertmanager's address, once it listens. */
async function listening(stderr: NodeJS.ReadableStream): Promise<string> {
  const said: string[] = [];
  for await (const line of createInterface({ input: stderr })) {
    said.push(line);
    const found = /msg="?Listening on"? address=(\S+)/.exec(line);
    if (!found) continue;
    stderr.resume();
    return `http://${found[1]}`;
  }
  throw new Error(`Alertmanager did not start:\n${said.join('\n')}`);
}
