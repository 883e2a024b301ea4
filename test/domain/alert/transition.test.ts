import { expect, test } from 'vitest';
import { type AlertState, resolve } from '../../../src/domain/alert/alert.ts';
import { transitions } from '../../../src/store/change-alerts.ts';
import { alert as sample } from '../../store/contract/sample-records.ts';

const alert = (id: string, state: AlertState) => sample(id, { state });

test('only alerts that began to fire or resolved are news, not renewals and counts below a threshold', () => {
  const before = [alert('renewed', 'firing'), alert('ended', 'firing'), alert('counting', 'pending')];
  const after = [
    alert('renewed', 'firing'),
    alert('ended', 'resolved'),
    alert('counting', 'pending'),
    alert('new', 'firing'),
  ];
  expect(transitions(before, after).map(({ alert: { id }, state }) => `${id} ${state}`)).toEqual([
    'ended resolved',
    'new firing',
  ]);
});

test('what ended it is one clean line of bounded length, whatever the service called it', () => {
  const by = `it is paused\u0000\ud800\nand ${'x'.repeat(60_000)}`;
  const { resolved_by: said = '' } = resolve(alert('ended', 'firing'), 0, by, 1).alert.annotations;
  expect(said).toMatch(/^it is paused \ufffd and x+…$/);
  expect(said.length).toBeLessThanOrEqual(2_300);
});
