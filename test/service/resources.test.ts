import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseJson } from '../../src/service/answer.ts';
import {
  ERROR_TYPES,
  type Parsed,
  pageIn,
  readBird,
  readBirdLogEntry,
  readFlight,
  readFlightLogEntry,
  readNest,
  readNotification,
  readUser,
} from '../../src/service/resources.ts';
import { countProcessorMs } from '../processor-time.ts';

const AT = { us: 1_783_000_774_590_833, text: '2026-07-02T13:59:34.590833Z' };
const WITHIN = { nestId: '682', birdId: '148890', flightId: 'ab-cd' };

function entryOf<T>(parsed: Parsed<T>): T {
  if (!parsed.ok) throw new Error(`not read: ${parsed.reason}`);
  return parsed.entry;
}

describe('resources as the specification writes them', () => {
  test('a Nest with its members', () => {
    const ann = { id: '7', firstName: 'Ann', lastName: 'Lee', email: 'ann@example.com', isActive: true };
    const nest = { id: '682', name: 'Marketing', members: [ann] };
    expect(entryOf(readNest(nest))).toEqual(nest);
    expect(entryOf(readUser(ann))).toEqual(ann);
  });

  test('a Bird', () => {
    const bird = { id: '148890', nestId: '682', name: 'Translate', status: 'active', triggerType: 'event' };
    expect(entryOf(readBird({ ...bird, isPublished: true }, {}))).toEqual({ ...bird, isPublished: true });
  });

  test('a Flight', () => {
    const flight = {
      id: '3F2504E0-4F89-11D3-9A0C-0305E82C3301',
      birdId: '148890',
      nestId: '682',
      status: 'failed',
      errorMessages: 'No such file',
      startDate: AT.text,
      duration: 12,
    };
    const { startDate: _, duration: durationSeconds, ...kept } = flight;
    const id = flight.id.toLowerCase();
    expect(entryOf(readFlight(flight, {}))).toEqual({ ...kept, id, startedAt: AT, durationSeconds });
  });

  test('a Bird log entry', () => {
    const entry = {
      id: 'e1',
      createdAt: AT.text,
      workspaceId: 682,
      workflowId: 148890,
      eventType: 'EventError',
      message: 'Boom',
      eventFailedBy: 'Subscription',
      errorType: 'PluginUnhandled',
      initiator: 'ann@example.com',
    };
    const { workspaceId: _, workflowId: _id, ...kept } = entry;
    const read = { ...kept, createdAt: AT, nestId: '682', birdId: '148890' };
    expect(entryOf(readBirdLogEntry(entry, {}))).toEqual(read);
  });

  test('a Flight log entry of an error', () => {
    const entry = {
      id: 'e2',
      createdAt: AT.text,
      workspaceId: 682,
      flowInstanceId: 'ab-cd',
      eventType: 5,
      stepId: 's1',
      scope: 'loop',
      errorType: 4,
      isSkipped: true,
      isRetried: false,
      message: 'Boom',
    };
    const { workspaceId: _, flowInstanceId: flightId, ...kept } = entry;
    expect(entryOf(readFlightLogEntry(entry, {}))).toEqual({
      ...{ ...kept, createdAt: AT, nestId: '682', flightId, errorType: 'PluginUnhandled' },
      ...{ initiator: '', durationSeconds: null, eventFailedBy: '', sdkLogType: '' },
    });
  });

  test('a notification', () => {
    const entry = {
      id: 'n1',
      createdAt: AT.text,
      workspaceId: 682,
      entityId: 55,
      entityName: 'Drive',
      entityType: 'Connection',
      eventType: 'ConnectionDisconnected',
      isSeen: false,
      message: 'Please reconnect.',
    };
    const { isSeen: _, workspaceId: _id, ...kept } = entry;
    const read = { ...kept, createdAt: AT, nestId: '682', entityId: '55' };
    expect(entryOf(readNotification(entry))).toEqual(read);
  });
});

describe('tolerance', () => {
  test('nothing but an id and an instant is needed', () => {
    const least = { id: 'x', createdAt: AT.text };
    expect(entryOf(readNotification(least))).toMatchObject({ nestId: '', entityId: '', message: '' });
    expect(entryOf(readBirdLogEntry(least, WITHIN))).toMatchObject({ nestId: '682', birdId: '148890' });
    expect(entryOf(readFlightLogEntry(least, WITHIN))).toMatchObject({ flightId: 'ab-cd', eventType: '' });
    expect(entryOf(readFlight({ id: 'x' }, WITHIN))).toEqual({
      ...{ id: 'x', birdId: '148890', nestId: '682' },
      ...{ status: '', errorMessages: '', startedAt: null, durationSeconds: null },
    });
    expect(entryOf(readNest({ id: 1 }))).toEqual({ id: '1', name: '', members: [], lacksMembers: true });
    expect(entryOf(readUser({ id: 1 }))).toMatchObject({ email: '', isActive: undefined });
  });

  test('null is the same as absent', () => {
    const ids = { workspaceId: null, workflowId: null };
    const words = { message: null, eventType: null, eventFailedBy: null, errorType: null, initiator: null };
    const least = { id: 'x', createdAt: AT.text };
    expect(readBirdLogEntry({ ...least, ...ids, ...words }, WITHIN)).toEqual(readBirdLogEntry(least, WITHIN));
    expect(readNest({ id: '1', name: null, members: null })).toEqual(readNest({ id: '1' }));
  });

  test('numbers come as text and text comes as numbers', () => {
    const entry = { id: 17, createdAt: AT.text, workspaceId: '682', workflowId: '148890', message: 404 };
    const read = { id: '17', nestId: '682', birdId: '148890', message: '404' };
    expect(entryOf(readBirdLogEntry(entry, {}))).toMatchObject(read);
    const log = { id: 'x', createdAt: AT.text, eventType: '5', errorType: '7', durationInSeconds: '1.5' };
    const numbers = { eventType: 5, errorType: 'FileSizeLimit', durationSeconds: 1.5 };
    expect(entryOf(readFlightLogEntry(log, {}))).toMatchObject(numbers);
    expect(entryOf(readFlight({ id: 'x', duration: '' }, {})).durationSeconds).toBeNull();
    expect(entryOf(readFlight({ id: 'x', duration: 'long' }, {})).durationSeconds).toBeNull();
  });

  test.each([
    [true, true],
    ['True', true],
    [' true ', true],
    [1, true],
    ['1', true],
    [false, false],
    ['false', false],
    [0, false],
    ['perhaps', false],
    [null, false],
  ])('a boolean written as %j is %j', (written, read) => {
    const entry = { id: 'x', createdAt: AT.text, isSkipped: written };
    expect(entryOf(readFlightLogEntry(entry, {})).isSkipped).toBe(read);
  });

  test('states and trigger types are lower case, unknown ones included', () => {
    const bird = entryOf(readBird({ id: '1', status: ' Suspended ', triggerType: 'WebHook' }, {}));
    expect(bird).toMatchObject({ status: 'suspended', triggerType: 'webhook' });
    expect(entryOf(readFlight({ id: '1', status: 'Waiting' }, {})).status).toBe('waiting');
  });

  test("a Flight's id is in lower case if it is a GUID, and as the service writes it otherwise", () => {
    const guid = '0190A1B2-C3D4-7E5F-8A9B-0C1D2E3F4A5B';
    for (const [written, kept] of [
      [guid, guid.toLowerCase()],
      ['F-1', 'F-1'],
    ] as const) {
      expect(entryOf(readFlight({ id: written }, {})).id).toBe(kept);
      const entry = { id: 'x', createdAt: AT.text, flowInstanceId: written };
      expect(entryOf(readFlightLogEntry(entry, {})).flightId).toBe(kept);
      expect(
        entryOf(readFlightLogEntry({ ...entry, flowInstanceId: null }, { flightId: written })).flightId,
      ).toBe(kept);
    }
  });

  test('a Bird without a published flag counts as published unless its status denies it', () => {
    expect(entryOf(readBird({ id: '1', status: 'active' }, {})).isPublished).toBe(true);
    expect(entryOf(readBird({ id: '1', status: 'Unpublished' }, {})).isPublished).toBe(false);
    expect(entryOf(readBird({ id: '1', status: 'active', isPublished: false }, {})).isPublished).toBe(false);
  });

  test.each<[unknown, string]>([
    ...ERROR_TYPES.map((name, index): [unknown, string] => [index, name]),
    [8, '8'],
    [-1, '-1'],
    [1.5, '1.5'],
    ['Novel', 'Novel'],
    [null, ''],
  ])('error type %j is %j', (written, read) => {
    const entry = { id: 'x', createdAt: AT.text, errorType: written };
    expect(entryOf(readFlightLogEntry(entry, {})).errorType).toBe(read);
  });

  test('unknown event types are kept', () => {
    const least = { id: 'x', createdAt: AT.text };
    expect(entryOf(readFlightLogEntry({ ...least, eventType: 9 }, {})).eventType).toBe(9);
    expect(entryOf(readFlightLogEntry({ ...least, eventType: 'Paused' }, {})).eventType).toBe('Paused');
    expect(entryOf(readBirdLogEntry({ ...least, eventType: 'Renamed' }, {})).eventType).toBe('Renamed');
  });

  test('a list or an object where text is expected is shown as text', () => {
    expect(entryOf(readFlight({ id: 'x', errorMessages: ['a', null, 'b'] }, {})).errorMessages).toBe(
      'a\n\nb',
    );
    expect(entryOf(readFlight({ id: 'x', errorMessages: { a: 1 } }, {})).errorMessages).toBe('{"a":1}');
  });

  test('a start date without a Z is UTC, and an unreadable one is absent', () => {
    expect(entryOf(readFlight({ id: 'x', startDate: '2026-07-02T13:59:34.590833' }, {})).startedAt).toEqual(
      AT,
    );
    expect(entryOf(readFlight({ id: 'x', startDate: '0001-01-01T00:00:00' }, {})).startedAt).toBeNull();
    expect(entryOf(readFlight({ id: 'x', startDate: 'soon' }, {})).startedAt).toBeNull();
  });

  test('members that cannot be read are left out', () => {
    const nest = entryOf(readNest({ id: '1', members: [null, { id: '' }, { id: 2 }] }));
    expect(nest.members.map((member) => member.id)).toEqual(['2']);
  });
});

describe('malformed entries', () => {
  const createdAt = AT.text;
  test.each([
    [null, 'not an object'],
    ['text', 'not an object'],
    [[{ id: 'x', createdAt }], 'not an object'],
    [{ createdAt }, 'no usable id'],
    [{ id: null, createdAt }, 'no usable id'],
    [{ id: '  ', createdAt }, 'no usable id'],
    [{ id: '..', createdAt }, 'no usable id'],
    [{ id: 'a\u0000b', createdAt }, 'no usable id'],
    [{ id: { a: 1 }, createdAt }, 'no usable id'],
    [{ id: 1.5, createdAt }, 'no usable id'],
    [{ id: 'x' }, 'no readable createdAt'],
    [{ id: 'x', createdAt: 1_783_000_774 }, 'no readable createdAt'],
    [{ id: 'x', createdAt: 'yesterday' }, 'no readable createdAt'],
  ])('%j: %s', (value, reason) => {
    const raw = JSON.stringify(value);
    const dated = { ok: false, raw, reason, ...(reason === 'no usable id' && { createdAt: AT }) };
    expect(readBirdLogEntry(value, {})).toEqual(dated);
    expect(readFlightLogEntry(value, {})).toEqual(dated);
    expect(readNotification(value)).toEqual(dated);
    if (reason === 'no readable createdAt') return;
    for (const read of [readUser, readNest, (item: unknown) => readBird(item, {})]) {
      expect(read(value)).toEqual({ ok: false, raw, reason });
    }
    expect(readFlight(value, {})).toEqual({ ok: false, raw, reason });
  });

  test('what is requested by its id must have one that is not too long', () => {
    const value = { id: 'a'.repeat(257) };
    const malformed = { ok: false, raw: JSON.stringify(value), reason: 'no usable id' };
    for (const read of [readUser, readNest, (item: unknown) => readBird(item, {})]) {
      expect(read(value)).toEqual(malformed);
    }
    expect(readFlight(value, {})).toEqual(malformed);
  });

  test('at most 64 KiB of them are kept', () => {
    const parsed = readNotification({ text: '€'.repeat(100_000) });
    if (parsed.ok) throw new Error('read without an id');
    expect(Buffer.byteLength(parsed.raw)).toBeLessThanOrEqual(65_536);
    expect(Buffer.byteLength(parsed.raw)).toBeGreaterThan(65_500);
  });

  test('long ones are not written in full to keep their beginning [long]', () => {
    // `repeat` would put off making the text, and its time would count here.
    const long = Buffer.alloc(15_000_000, '\n').toString('latin1');
    const processorMs = countProcessorMs();
    const parsed = readNotification({ id: '', texts: [long, long, long], createdAt: AT.text });
    expect(processorMs()).toBeLessThan(50);
    expect(parsed).toMatchObject({
      ok: false,
      raw: JSON.stringify({ id: '', texts: [long] }).slice(0, 65_533),
    });
  });

  test('nesting deeper than the stack is not written, and nothing fails', () => {
    let deep: unknown = [];
    for (let depth = 0; depth < 100_000; depth += 1) deep = { deep };
    expect(readNotification(deep)).toMatchObject({ ok: false, reason: 'no usable id' });
    expect(readNotification({ id: 'x', createdAt, message: deep }).ok).toBe(true);
    let list: unknown[] = [];
    for (let depth = 0; depth < 100_000; depth += 1) list = [list];
    expect(readNotification({ id: 'x', createdAt, message: list }).ok).toBe(true);
  });

  test('whatever JSON comes, reading never throws [long]', () => {
    const readers = [readUser, readNest, readBird, readFlight, readBirdLogEntry, readFlightLogEntry];
    const keys = fc.constantFrom('id', 'createdAt', 'members', 'status', 'errorType', 'message', 'startDate');
    const record = fc.dictionary(keys, fc.jsonValue({ maxDepth: 2 }));
    fc.assert(
      fc.property(record, (value) => {
        for (const read of readers) expect(typeof read(value, {}).ok).toBe('boolean');
        expect(typeof readNotification(value).ok).toBe('boolean');
      }),
    );
  });
});

describe('pages and lists', () => {
  const item = { id: 'x', createdAt: AT.text };

  test('a page carries its items, readable or not, and its numbers', () => {
    const page = pageIn({
      items: [item, {}].map((one) => readNotification(one)),
      totalCount: '42',
      page: 0,
      pageSize: 20,
    });
    expect(page?.items.map((one) => one.ok)).toEqual([true, false]);
    expect(page).toMatchObject({ totalCount: 42, page: 0, pageSize: 20 });
  });

  test('items may be null, numbers may be missing', () => {
    const empty = { items: [], totalCount: null, page: null, pageSize: null };
    expect(pageIn({ items: null })).toEqual(empty);
    expect(pageIn({ totalCount: 0 })).toEqual({ ...empty, totalCount: 0 });
  });

  test.each([
    [{}],
    [[]],
    [null],
    ['items'],
    [{ items: {} }],
    [{ totalCount: 3 }],
    [{ type: 'about:blank', title: 'Not found', status: 404 }],
  ])('%j is not a page', (value) => {
    expect(pageIn(value)).toBeUndefined();
  });
});

describe('parseJson', () => {
  test('64-bit ids keep their digits', () => {
    const text = '{"id":9223372036854775807,"small":682,"list":[-9007199254740993, 1.5e30]}';
    expect(parseJson(text)).toEqual({
      id: '9223372036854775807',
      small: 682,
      list: ['-9007199254740993', 1.5e30],
    });
    expect(entryOf(readNest(parseJson('{ "id" : 9223372036854775807 }'))).id).toBe('9223372036854775807');
  });

  test('other text is read as JSON.parse reads it', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value);
        let isLong = false;
        const plain = JSON.parse(text, (_key, item) => {
          isLong ||= Number.isInteger(item) && !Number.isSafeInteger(item);
          return item;
        });
        fc.pre(!isLong);
        expect(parseJson(text)).toEqual(plain);
      }),
    );
    expect(parseJson('{"text":": 9223372036854775807"}')).toEqual({ text: ': 9223372036854775807' });
  });

  test('what is not JSON is a SyntaxError', () => {
    expect(() => parseJson('<html>')).toThrow(SyntaxError);
    expect(() => parseJson('{"id":9223372036854775807')).toThrow(SyntaxError);
  });
});
