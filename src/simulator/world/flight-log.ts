/**
 * Derives the log of a Flight from the Flight instead of storing it. Each reading gives the same entries under the
 * same ids, and Flights that nobody asks about take no memory.
 */
import { hashOf, seededRandom } from './seeded-random.ts';
import type { FlightEnd, FlightRecord } from './simulated-record.ts';
import { uuidV7 } from './state.ts';

export interface FlightLogRecord {
  readonly id: string;
  readonly flightId: string;
  readonly createdAtUs: number;
  /** The fields as the specification names them; undefined ones do not apply. */
  readonly fields: Readonly<Record<string, unknown>>;
}

/** The service's numbers for types of entries. */
const START = 1;
const LANDING = 2;
const STOPPED = 3;
const SDK_LOG = 4;
const ERROR = 5;

/** When the steps of a Flight write to its log, counted from its start. */
const STEPS = [
  { afterUs: 400_000, scope: 'Get entry' },
  { afterUs: 2_000_000, scope: 'Convert document' },
  { afterUs: 9_000_000, scope: 'Translate' },
  { afterUs: 3_600_000_000, scope: 'Wait for review' },
] as const;

/** The distance between the errors of one end; less in a short Flight. */
const ERROR_STEP_US = 200_000;

/** The entries so far, in order of their instants. */
export function flightLogOf(flight: FlightRecord, nowUs: number): FlightLogRecord[] {
  const entries: FlightLogRecord[] = [];
  const add = (name: string, createdAtUs: number, fields: Readonly<Record<string, unknown>>) => {
    const random = seededRandom(hashOf(`${flight.id} ${name}`));
    entries.push({ id: uuidV7(createdAtUs, random), flightId: flight.id, createdAtUs, fields });
  };
  let startedAtUs: number | undefined = flight.startedAtUs;
  for (const [index, end] of [...flight.ends, undefined].entries()) {
    if (startedAtUs === undefined) break;
    add(`start ${index}`, startedAtUs, {
      initiator: 'Trigger',
      message: 'The Flight took off',
      eventType: START,
    });
    const untilUs: number = end?.endedAtUs ?? nowUs + 1;
    const beganUs: number = startedAtUs;
    const steps = [
      ...STEPS.map(({ afterUs, scope }) => ({ atUs: beganUs + afterUs, scope })),
      ...flight.wrote.filter(({ atUs }) => atUs >= beganUs),
    ];
    for (const [step, { atUs, scope }] of steps.entries()) {
      if (atUs >= untilUs) continue;
      const message = `The step "${scope}" has finished`;
      const fields = {
        message,
        eventType: SDK_LOG,
        sdkLogType: 'Information',
        stepId: String(step + 1),
        scope,
      };
      add(`step ${index} ${step}`, atUs, fields);
    }
    if (end) addEnd(end, startedAtUs, (name, us, fields) => add(`${name} ${index}`, us, fields));
    startedAtUs = end?.reopenedAtUs;
  }
  return entries.sort((a, b) => a.createdAtUs - b.createdAtUs);
}

function addEnd(
  end: FlightEnd,
  startedAtUs: number,
  add: (name: string, createdAtUs: number, fields: Readonly<Record<string, unknown>>) => void,
): void {
  const { stepId, scope, errorType } = end.failedStep;
  const error = { eventFailedBy: 'EventInvocation', stepId, scope, errorType, eventType: ERROR };
  const errors = [
    ...Array.from({ length: end.retriedErrors }, () => ({ isSkipped: false, isRetried: true })),
    ...Array.from({ length: end.skippedErrors }, () => ({ isSkipped: true, isRetried: false })),
    ...(end.status === 'failed' ? [{ isSkipped: false, isRetried: false }] : []),
  ];
  const stepUs = Math.min(ERROR_STEP_US, Math.floor((end.endedAtUs - startedAtUs) / (errors.length + 1)));
  for (const [at, flags] of errors.entries()) {
    const message = end.errorMessages || `${scope}: the step ended with an error`;
    const createdAtUs = end.endedAtUs - (errors.length - at) * stepUs;
    add(`error ${at}`, createdAtUs, { ...error, message, ...flags });
  }
  if (end.status === 'succeeded') {
    const durationInSeconds = Math.floor((end.endedAtUs - startedAtUs) / 1_000_000);
    add('end', end.endedAtUs, { message: 'The Flight landed', eventType: LANDING, durationInSeconds });
    return;
  }
  const isByPerson = end.status === 'cancelled';
  add('end', end.endedAtUs, {
    initiator: isByPerson ? 'anna@example.com' : undefined,
    message: isByPerson ? 'The Flight was cancelled' : 'The Flight was stopped by an error',
    eventType: STOPPED,
    eventFailedBy: isByPerson ? undefined : 'EventInvocation',
    isSkipped: false,
    isRetried: false,
  });
}
