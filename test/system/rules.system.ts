/** The rules, read by Prometheus' own tools. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const FOLDER = join(import.meta.dirname, '../../config/prometheus');

test.each([
  ['check', 'rules', 'rules.yml'],
  ['check', 'config', 'prometheus.yml'],
  ['test', 'rules', 'rules_test.yml'],
])('promtool %s %s %s', (...args) => {
  const { status, stdout, stderr } = spawnSync('promtool', args, { cwd: FOLDER, encoding: 'utf8' });
  expect({ status, output: stdout + stderr }).toEqual({
    status: 0,
    output: expect.not.stringMatching(/FAILED|error/i),
  });
});
