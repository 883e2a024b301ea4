import { describe, expect, test } from 'vitest';
import { OPERATIONS, operationOf, targetOf } from '../../src/service/operations.ts';

const target = (id: string, given: Record<string, string>) => targetOf(operationOf(id), given);

test('the table is that of the specification', () => {
  expect(OPERATIONS.map(({ id, method, path }) => `${id} ${method} ${path}`)).toEqual([
    'searchNests GET /nests',
    'getNest GET /nests/{nestId}',
    'addUserToNest PUT /nests/{nestId}/users',
    'removeUserFromNest DELETE /nests/{nestId}/users/{userId}',
    'searchBirds GET /nests/{nestId}/birds',
    'getBird GET /nests/{nestId}/birds/{birdId}',
    'flyBird POST /nests/{nestId}/birds/{birdId}',
    'getBirdLogs GET /nests/{nestId}/birds/{birdId}/logs',
    'searchFlights GET /nests/{nestId}/birds/{birdId}/flights',
    'getFlight GET /nests/{nestId}/birds/{birdId}/flights/{flightId}',
    'getFlightLogs GET /nests/{nestId}/birds/{birdId}/flights/{flightId}/logs',
    'getNotifications GET /notifications',
    'searchUsers GET /users',
    'getUser GET /users/{userId}',
  ]);
});

test('three operations write, one has a body, three are paged', () => {
  const ids = (which: (operation: (typeof OPERATIONS)[number]) => boolean) =>
    OPERATIONS.filter(which).map(({ id }) => id);
  expect(ids(({ writes }) => writes)).toEqual(['addUserToNest', 'removeUserFromNest', 'flyBird']);
  expect(ids(({ hasBody }) => hasBody)).toEqual(['addUserToNest']);
  expect(ids(({ isPaged }) => isPaged)).toEqual(['getBirdLogs', 'getFlightLogs', 'getNotifications']);
  expect(OPERATIONS.every(({ method, writes }) => (method === 'GET') !== writes)).toBe(true);
});

test('an unknown operation names those that exist', () => {
  expect(() => operationOf('getBrid')).toThrow(
    expect.objectContaining({
      code: 'usage',
      message: expect.stringMatching(/"getBrid".*searchNests, .*getUser$/),
    }),
  );
  expect(() => operationOf('constructor')).toThrow(expect.objectContaining({ code: 'usage' }));
});

describe('the target of a request', () => {
  test('puts ids into the path and the rest into the query, encoded, in the order of the specification', () => {
    expect(target('getFlight', { nestId: '682', birdId: '1', flightId: 'a/b ?c' })).toBe(
      '/nests/682/birds/1/flights/a%2Fb%20%3Fc',
    );
    expect(
      target('getNotifications', { from: '2026-07-02T13:59:34.590833Z', ascending: 'true', page: '0' }),
    ).toBe('/notifications?page=0&ascending=true&from=2026-07-02T13%3A59%3A34.590833Z');
    expect(target('searchBirds', { nestId: '{birdId}$&', Status: 'active' })).toBe(
      '/nests/%7BbirdId%7D%24%26/birds?Status=active',
    );
  });

  test('accepts parameters in any case and sends them as the service spells them', () => {
    expect(target('searchFlights', { nestid: '1', BIRDID: '2', status: 'failed' })).toBe(
      '/nests/1/birds/2/flights?Status=failed',
    );
  });

  test('a broken surrogate does not break the encoding', () => {
    expect(target('getUser', { userId: 'a\ud800' })).toBe('/users/a%EF%BF%BD');
  });

  test.each([
    ['getBird', { nestId: '1' }, 'getBird: birdId is missing (required: nestId, birdId)'],
    ['getUser', { userId: '' }, 'getUser: userId must be an id, not "" (required: userId)'],
    ['getUser', { userId: '..' }, 'getUser: userId must be an id, not ".." (required: userId)'],
    ['searchUsers', { page: '1' }, 'searchUsers: there is no parameter "page" (it takes no parameters)'],
    [
      'searchBirds',
      { nestId: '1', Status: 'flying' },
      'searchBirds: Status must be one of active, unpublished, suspended, not "flying" (required: nestId; optional: TriggerType, Status)',
    ],
    [
      'getNotifications',
      { page: '-1', pageSize: '0', ascending: 'yes', from: 'today' },
      'getNotifications: page must be a whole number from 0 to 2147483647, not "-1"; ' +
        'pageSize must be a whole number from 1 to 2147483647, not "0"; ascending must be true or false, not "yes"; from must be an instant like 2026-07-02T13:59:34.590833Z, not "today" ' +
        '(optional: page, pageSize, ascending, from, to)',
    ],
    [
      'getNotifications',
      { page: '2147483648' },
      'getNotifications: page must be a whole number from 0 to 2147483647, not "2147483648" (optional: page, pageSize, ascending, from, to)',
    ],
    ['getUser', { userId: '1', USERID: '2' }, 'getUser: userId is given twice (required: userId)'],
  ])('%s %j is refused with every mistake', (id, given, message) => {
    expect(() => target(id, given as Record<string, string>)).toThrow(
      expect.objectContaining({ code: 'usage', message }),
    );
  });

  test('page numbers stay within 32 bits', () => {
    expect(target('getNotifications', { page: '2147483647' })).toContain('page=2147483647');
    expect(() => target('getNotifications', { page: '2147483648' })).toThrow(/whole number/);
  });
});
