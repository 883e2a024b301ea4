import { expect, test } from 'vitest';
import type { Alert, AlertState } from '../../../src/domain/alert/alert.ts';
import { transitions } from '../../../src/store/change-alerts.ts';

const alert = (id: string, state: AlertState): Alert => ({
  id,
  scope: 'eu/bird/1',
  rule: 'r1',
  subject: 's',
  firstRule: 'r1',
  alertname: 'FlightFailed',
  state,
  labels: {},
  annotations: {},
  startsAtUs: 1,
  endsAtUs: 0,
  updatedAtUs: 1,
  eventsTotal: 1,
  lastSeq: 1,
  memory: null,
  dueAtUs: null,
});

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
