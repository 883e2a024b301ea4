/** The demo as a process, and a real Prometheus that scrapes it. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../http/servers.ts';
import { MAIN } from '../program.ts';

interface LiveDemo {
  /** The page's address, with a slash at its end. */
  readonly page: string;
  /** Resolves to its exit code. */
  stop(): Promise<number | null>;
}

/** Starts the demo; resolves when its first mail has arrived, because from then on there is something to see. */
export async function openDemo(): Promise<LiveDemo> {
  const demo = spawn(process.execPath, [MAIN, 'demo'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const page = await said(demo, /page +(http:\S+\/)/);
  await said(demo, /mail .*( failed)/);
  return {
    page,
    async stop() {
      demo.kill('SIGTERM');
      if (demo.exitCode === null) await once(demo, 'exit');
      return demo.exitCode;
    },
  };
}

/** Resolves to what the pattern's group matched in the output. */
function said(child: ChildProcess, pattern: RegExp): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let text = '';
  child.stdout!.on('data', (chunk) => {
    text += String(chunk);
    const match = pattern.exec(text);
    if (match) resolve(match[1]!);
  });
  child.once('exit', (code) => reject(new Error(`the demo ended with ${code}:\n${text}`)));
  return promise;
}

interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: number;
}

interface LivePrometheus {
  /** The result of an instant query; rejects with Prometheus' own message if it cannot read the query. */
  query(expression: string): Promise<readonly Sample[]>;
  /** The labels of these series' exemplars from the last ten minutes. */
  exemplars(expression: string): Promise<readonly Readonly<Record<string, string>>[]>;
  /** The names of the rules' alerts that fire now, each once. */
  firing(): Promise<readonly string[]>;
  stop(): Promise<void>;
}

/** Starts Prometheus in `folder`; it scrapes and evaluates every second. Resolves after its first scrape. */
export async function openPrometheus(folder: string, page: string, rules = ''): Promise<LivePrometheus> {
  const port = await freePort();
  writeFileSync(join(folder, 'rules.yml'), rules || 'groups: []');
  writeFileSync(
    join(folder, 'prometheus.yml'),
    `global: { scrape_interval: 1s, evaluation_interval: 1s }
rule_files: [rules.yml]
scrape_configs: [{ job_name: nestwatch, static_configs: [{ targets: ["${new URL(page).host}"] }] }]`,
  );
  const prometheus = spawn(
    'prometheus',
    [
      `--config.file=${join(folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(folder, 'tsdb')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--enable-feature=exemplar-storage',
    ],
    { stdio: 'ignore' },
  );

  async function ask<T>(path: string): Promise<T> {
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1/${path}`);
    const { status, data, error } = (await answer.json()) as { status: string; data: T; error?: string };
    if (status !== 'success') throw new Error(`${path}: ${error}`);
    return data;
  }
  async function query(expression: string): Promise<Sample[]> {
    interface Row {
      readonly metric: Record<string, string>;
      readonly value: [number, string];
    }
    const { result } = await ask<{ result: Row[] }>(`query?query=${encodeURIComponent(expression)}`);
    return result.map(({ metric, value }) => ({ metric, value: Number(value[1]) }));
  }

  const isScraped = () =>
    query('up{job="nestwatch"} == 1').then(
      (found) => found.length === 1,
      () => false,
    );
  for (let tries = 0; !(await isScraped()); tries += 1) {
    if (tries > 120) throw new Error('Prometheus never scraped the demo');
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  return {
    query,
    async exemplars(expression) {
      const now = Date.now() / 1000;
      const asked = new URLSearchParams({ query: expression, start: `${now - 600}`, end: `${now}` });
      const found = await ask<{ exemplars: { labels: Record<string, string> }[] }[]>(
        `query_exemplars?${asked}`,
      );
      return found.flatMap(({ exemplars }) => exemplars.map(({ labels }) => labels));
    },
    async firing() {
      const { alerts } = await ask<{ alerts: { state: string; labels: { alertname: string } }[] }>('alerts');
      const names = alerts.filter(({ state }) => state === 'firing').map(({ labels }) => labels.alertname);
      return [...new Set(names)].sort();
    },
    async stop() {
      prometheus.kill('SIGTERM');
      if (prometheus.exitCode === null) await once(prometheus, 'exit');
    },
  };
}
