/**
 * The store on a disk of its own that fills up. Needs the right to mount a disk, which root in a container often has.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { nestwatch } from '../cli/test-io.ts';
import { openLiveDaemon, until } from './live-daemon.ts';

test('a full disk is reported to whoever asks, and what happened meanwhile is notified when there is space again', async (context) => {
  const disk = mkdtempSync(join(tmpdir(), 'nestwatch-disk-'));
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=16m', 'tmpfs', disk]).status === 0;
  try {
    if (!mounted) return context.skip('no disk can be mounted here');
    const daemon = await openLiveDaemon({ store: `sqlite:${disk}/n.db` });
    try {
      const ready = async () => (await fetch(`${daemon.url}/-/ready`)).status === 200;
      const healthcheck = async () => (await nestwatch(['healthcheck', '--url', daemon.url])).exit;
      await until(ready, 'ready');
      expect(await healthcheck()).toBe(0);

      const { bavail, bsize } = statfsSync(disk);
      writeFileSync(join(disk, 'ballast'), Buffer.alloc(bavail * bsize));
      for (let flights = 0; flights < 50; flights += 1) daemon.fails('Translate blog');
      await until(async () => !(await ready()), 'not ready');
      expect(await (await fetch(`${daemon.url}/-/ready`)).text()).toBe(
        'Not ready.\nThe store has no space left to grow: nothing new can be kept or sent.\n',
      );
      expect(await (await fetch(`${daemon.url}/-/healthy`)).text()).toBe('Healthy.\n');
      expect(await healthcheck()).toBe(1);

      rmSync(join(disk, 'ballast'));
      await until(ready, 'ready again');
      await until(() => daemon.told.includes('firing Translate blog'), 'told');
      expect(await healthcheck()).toBe(0);
    } finally {
      await daemon.close();
    }
  } finally {
    if (mounted) spawnSync('umount', [disk]);
    rmdirSync(disk);
  }
});
