import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  MAX_SIGNATURE_LENGTH,
  reasonFirst,
  reasonOf,
  signature,
} from '../../../src/domain/alert/error-signature.ts';
import { annotate } from '../../../src/domain/alert/labels.ts';
import { anyCharacter } from '../../any-character.ts';

describe('signature', () => {
  test.each([
    ['', ''],
    [' \n\t\n', ''],
    ['12345', '#'],
    ['Upload of "brief 7.docx" failed', 'Upload of … failed'],
    ["Can't read 'Q3 launch' of project 4711, don't retry", "Can't read … of project #, don't retry"],
    ['Request failed with status code 404 (Not Found)', 'Request failed with status code # (Not Found)'],
    ['GET https://api.example.com/v1/jobs/77?x=1: 502', 'GET https://api.example.com/… #'],
    ['Login of https://user:secret@host/x failed', 'Login of https://host/… failed'],
    ['No access for john.doe@example.com', 'No access for …'],
    ['Order 0c9f7a4e-1111-4222-8333-abcdefabcdef is gone', 'Order # is gone'],
    ['ids 1, 2, 3 unknown', 'ids # unknown'],
    ['At 2026-07-02T13:59:34.590833Z: canceled', 'At …: canceled'],
    ['07/02/2026 13:59:34 PM canceled', '… canceled'],
    ['File /data/in/brief.docx or C:\\Temp\\x\\y.txt missing', 'File … or … missing'],
    ['Bucket x7f3k9q2 of S3 over HTTP2', 'Bucket # of S# over HTTP#'],
    ['文件 42 未找到', '文件 # 未找到'],
    ['{"error":{"code":404,"message":"Term base 17 not found"}}', 'Term base # not found'],
    ['Answer: {"detail":"Quota of 5 reached"} (retry)', 'Answer: Quota of # reached (retry)'],
    ['{"a":1', '{…:#'],
    ['\u202eevil\u0007 bell', 'evil bell'],
    ['项目「春の企画」と『夏』が見つかりません', '项目…と…が見つかりません'],
    ['Fault at 0x1F3A, then 0xdeadbeef', 'Fault at #, then #'],
    ['Code 0x80070005: denied (0X1)', 'Code #: denied (#)'],
    ['10x20 px and 0xyz', '#x# px and #xyz'],
  ])('%j becomes %j', (message, expected) => {
    expect(signature(message)).toBe(expected);
  });

  test.each([
    ['\n   at Sdk.Run(Job job) in /src/job.cs:line 3\nSystem.Exception: boom', 'System.Exception: boom'],
    ['Traceback (most recent call last):\n  File "x.py", line 3, in f\nValueError: bad', 'ValueError: bad'],
    ['--- End of inner exception stack trace ---\nboom', 'boom'],
    ['17:03\nboom', 'boom'],
    ['at least one file is required\n', 'at least one file is required'],
    ['boom\r\n   at X()', 'boom'],
  ])('takes the first line of %j that says something', (message, expected) => {
    expect(signature(message)).toBe(expected);
  });

  test.each([
    [
      'System.Net.Http.HttpRequestException: Response status code does not indicate success: 403 …',
      '(Forbidden).\n   at System.Net.Http.HttpResponseMessage.EnsureSuccessStatusCode()',
      '(Forbidden).\r\n   at Apps.X.Y(Int64 id) in /src/a.cs:line 42',
    ],
    [
      'Get entry: the Contentful space … not found.',
      '"web-prod" answered 404: entry 5KsDBWseXY6QegucYAoacS',
      '"docs" answered 404: entry 3KsDBWseXY6QegucYAoac1',
    ],
    ['The operation has timed out after …', '00:01:40.', '00:00:30.5.'],
    [
      'The request was canceled due to the configured HttpClient.Timeout of … seconds elapsing.',
      '100',
      '300',
    ],
    ['Rate limit exceeded, retry after … GMT', 'Thu, 02 Jul 2026 13:59:34', 'Fri, 10 Jul 2026 03:09:04'],
    ['Rate limit exceeded, retry after …', '2026-07-02T13:59:34+02:00', '2026-07-03T03:00:00Z'],
    ['Job failed on …', 'July 2, 2026 at 3:15 PM', 'May 12, 2026 at 11:05 AM'],
    ['Job failed on …', '2 Jul 2026 15:04', '30 June 2026 09:14'],
    ['Project … could not be opened', '66f0c2a1b3', '71a9c2a1ff'],
    ['Project … could not be opened', 'deadbeefcafe', '71a9c2a1ffee'],
    ['Segment … locked', 'ab12cd34-ef56-7890-ab12-cd34ef567890', 'AB12CD34-EF56-7890-AB12-CD34EF567891'],
    ['Correlation ID: …', '{b5e1c0de-0001-0002-0003-000000000001}', '{c5e1c0de-0001-0002-0003-00000000000f}'],
    [
      'Upload failed: file …',
      'brief_v2_final.docx is too large (512 MB)',
      'catalogue-2026.indd is too large (1.2 GB)',
    ],
    [
      'Could not find file …',
      'C:\\Users\\svc\\AppData\\Local\\Temp\\tmp3F2A.tmp.',
      'C:\\Users\\svc\\AppData\\Local\\Temp\\tmpA1.tmp.',
    ],
    [
      "Could not find a part of the path '…'.",
      '/var/spool/import/ab/file.xliff',
      '/var/spool/import/cd/other file.xliff',
    ],
    ['Connection refused (…)', '10.0.3.17:5432', '192.168.1.4:5432'],
    ['No route to host …', '[2001:db8::1]:443', '[fe80::a1b2:c3]:8443'],
    ['connect ECONNREFUSED …', '10.1.2.3:443', '10.99.2.3:80'],
    [
      'Error: self-signed certificate; thumbprint …',
      '3A5B7C9D1E3F5A7B9C1D3E5F7A9B1C3D5E7F9A1B',
      '0A5B7C9D1E3F5A7B9C1D3E5F7A9B1C3D5E7F9AFF',
    ],
    ['Expected …', '12 segments but got 9', '1,204 segments but got 0'],
    ['Expected …', '-1 but got 3.5e-7', '4 but got 1'],
    ['Memory limit reached: … used', '98.7% of 512MiB', '100% of 1GiB'],
    [
      'Token … has expired',
      'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U',
      'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiI5OTk5In0.abcdefghP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U',
    ],
    ['Invalid value ‘…’ for targetLanguage', 'de-DE', 'fr-FR'],
    ["The given key '…' was not present in the dictionary.", 'summary', 'title'],
    [
      'Cannot read properties of undefined (reading …',
      "'id')\n    at run (/app/index.js:1:2)",
      "'name')\n    at async Promise.all (index 0)",
    ],
    ["Value cannot be null. (Parameter '…')", 'source', 'target'],
    [
      '{"statusCode":429,"message":"Too many requests, wait …"}',
      '30 s","requestId":"ab-1',
      '5 s","requestId":"zz-9',
    ],
    ['[{"code":"E17","message":"Asset … missing"}]', '99', '7'],
    ['{\n  "error": {\n    "message": "Asset … missing"\n  }\n}', '99', '7'],
    [
      '<html><head><title>502 Bad Gateway</title></head>…',
      '<body>x 1</body></html>',
      '<body>y 2</body></html>',
    ],
    ['Fehler: Datei „…“ wurde nicht gefunden', 'Angebot 7.docx', 'Brief.docx'],
    ['Job was started by …', 'anna.kowalska@example.com at 13:00', 'bram+x@example.co.uk at 9:05'],
    ['翻訳ジョブ … が失敗しました', '12345', '9'],
    ['Step … failed', '3/7', '12/15'],
    ['PhraseTMS: Job part … failed', 'uid=aBcD1234efGH', 'uid=zZcD9994efGA'],
    [
      'Traceback (most recent call last):\n  File "…',
      'a.py", line 3, in <module>\n    main(17)\nKeyError: 17',
      'b.py", line 9, in <module>\n    main(18)\nKeyError: 18',
    ],
    ['---> System.TimeoutException: boom …', '3', '4'],
    [
      'Exception in thread "…',
      'main" java.lang.NullPointerException: x\n\tat com.acme.Main.run(Main.java:17)\n\t... 12 more',
      'worker-3" java.lang.NullPointerException: x\n\tat com.acme.Main.run(Main.java:18)',
    ],
    ['Request … failed', '0HN4ABCD:00000003', '0HN9ZZZZ:0000000A'],
    ['Deadlock: process ID … was deadlocked on lock resources', '57', '112'],
    ['Lock held for …', '1h 5m 3s by pod worker-7d9f8b6c5-x2x9k', '12m 1s by pod worker-6c8f8b6c5-q8abc'],
    [
      'Blob … is corrupt',
      'sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
      'sha256:0000d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00fff',
    ],
    ['Cost of … exceeds the budget', '€12,50', '€3.100,00'],
    ['Retry … of 3: temporary failure', '1', '3'],
    ['At … the job failed', '1782993900', '1782993900123'],
    ['Message id … bounced', '<CAF+abc123@mail.example.com>', '<CAZ+zzz999@mx.example.org>'],
  ])('%j is one failure with %j and with %j', (text, one, other) => {
    const found = signature(text.replace('…', one));
    expect(signature(text.replace('…', other))).toBe(found);
    expect(found).toMatch(/\p{L}{3}/u);
  });

  test.each([
    ['Connection refused (10.0.3.17:5432)', 'Connection refused (#)'],
    ['Upload of brief_v2.docx (12 MB) failed', 'Upload of … (#) failed'],
    ['Due Thu, 02 Jul 2026 13:59:34 GMT', 'Due …'],
    ['<html><head><title>502 Bad Gateway</title></head>', '# Bad Gateway'],
    ['<html><body><p>Maintenance until 9</p></body></html>', 'Maintenance until #'],
    ['{\n "error": {\n  "message": "Asset 99 missing"\n }\n}', 'Asset # missing'],
    ['[{"message":"Asset 99 missing"}]', 'Asset # missing'],
    ['Traceback (most recent call last):\n  File "a.py", line 3\n    main(17)\nKeyError: 17', 'KeyError: #'],
    // Looks like an id, a date or a size, but is none.
    ['May the decade of Newtonsoft.Json be over', 'May the decade of … be over'],
    ['std::vector and a::b', 'std::vector and a::b'],
    ['The facade of the cafe is feedback', 'The facade of the cafe is feedback'],
    ['Apps.MemoQ.Actions.FileActions.Upload failed', 'Apps.MemoQ.Actions.FileActions.Upload failed'],
  ])('%j says %j', (message, expected) => {
    expect(signature(message)).toBe(expected);
  });

  test('stays the same if only the variable parts of two failures differ', () => {
    // Spelled out here, because `fc.webPath` builds a map of all characters.
    const inPath = fc.oneof(
      { weight: 10, arbitrary: fc.constantFrom(...'abyzABYZ019-._~!$&()*+,;=:@') },
      { weight: 1, arbitrary: anyCharacter.map(encodeURIComponent) },
    );
    const parts = fc.record({
      id: fc.uuid(),
      count: fc.nat(),
      quoted: fc.string().filter((text) => !/["\\\n\r\u2028\u2029{}]/.test(text)),
      at: fc.date({ noInvalidDate: true, min: new Date(0), max: new Date('2100-01-01') }),
      path: fc.array(fc.string({ unit: inPath })).map((segments) =>
        segments
          .map((one) => `/${one}`)
          .join('')
          .replaceAll("'", ''),
      ),
      mail: fc.tuple(fc.stringMatching(/^[a-z]{1,8}$/), fc.stringMatching(/^[a-z]{1,8}$/)),
      line: fc.nat(),
    });
    const write = (part: typeof parts extends fc.Arbitrary<infer T> ? T : never) =>
      `Job ${part.id} of ${part.mail[0]}@${part.mail[1]}.com: file "${part.quoted}" (${part.count} words) was not ` +
      `uploaded at ${part.at.toISOString()} to https://cms.example.com${part.path}\n   at Sdk.Run() line ${part.line}`;
    const first = signature(write(fc.sample(parts, { numRuns: 1, seed: 1 })[0]!));
    expect(first).toBe('Job # of …: file … (# words) was not uploaded at … to https://cms.example.com/…');
    fc.assert(
      fc.property(parts, (part) => {
        expect(signature(write(part))).toBe(first);
      }),
      { numRuns: 60 },
    );
  });

  test('is one short line for any text, and fast', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter, maxLength: 400 }), (message) => {
        const found = signature(message);
        expect([...found].length).toBeLessThanOrEqual(MAX_SIGNATURE_LENGTH);
        expect(found).not.toMatch(/[\n\r\t]/);
        expect(found.isWellFormed()).toBe(true);
      }),
    );
    for (const part of [
      ...[
        'x',
        'x@',
        '"',
        "'",
        '/a',
        'a-',
        '1 ',
        '{',
        'a://',
        '\\',
        'a:',
        '1:',
        '[',
        '‘',
        '<',
        '<a',
        'a.',
        'a_1.',
      ],
      ...['2 Jan ', 'jan 1, ', '1h ', '- 1', '::1', '1.1.1.', '['],
    ]) {
      expect([...signature(part.repeat(500_000))].length).toBeLessThanOrEqual(MAX_SIGNATURE_LENGTH);
    }
  });

  test('quotes that never close cost no more than their length', () => {
    const started = process.cpuUsage();
    for (const open of ['“', '„', '«', '「', '『', '‘', '‚']) {
      expect(signature(`${open.repeat(2_047)}\n`.repeat(8))).toBe(`${open.repeat(119)}…`);
    }
    expect(process.cpuUsage(started).user / 1000).toBeLessThan(300);
  });

  test('is the same for a message that was seen before many others', () => {
    const messages = Array.from(
      { length: 600 },
      (_, index) => `Step "${index}" of word${'s'.repeat(index)} failed`,
    );
    const first = messages.map(signature);
    expect(messages.toReversed().map(signature).toReversed()).toEqual(first);
    expect(first[599]).toMatch(/^Step … of words+…$/);
  });

  test('different causes stay apart', () => {
    expect(signature('File not found')).not.toBe(signature('Access denied'));
  });
});

describe('the reason', () => {
  test.each([
    ['', ''],
    ['Job 4711 was refused', 'Job 4711 was refused'],
    ['Job 4711 was refused\nby the TMS', 'Job 4711 was refused'],
    ['\n\n17:03\nJob 4711 was refused', 'Job 4711 was refused'],
    [
      'Traceback (most recent call last):\n  File "x.py", line 3, in f\n    go(3)\nValueError: 3 is bad',
      'ValueError: 3 is bad',
    ],
    [
      JSON.stringify({ error: { code: 456, message: 'Quota of 5 exceeded' } }, null, 2),
      'Quota of 5 exceeded',
    ],
    ['<!DOCTYPE html>\n<html><head><title>502 Bad Gateway</title></head></html>', '502 Bad Gateway'],
    // Not a page, but somebody's words.
    ['<step 3> failed\n<b>now</b>', '<step 3> failed'],
    ['{"error":{"code":456,"message":"in one line"}}', '{"error":{"code":456,"message":"in one line"}}'],
    ['12\n34', '12'],
  ])('of %j is %j', (message, expected) => {
    expect(reasonOf(message)).toBe(expected);
  });

  const places = Array.from(
    { length: 200 },
    (_, at) => `  File "step.py", line ${at}, in run\n    go(${at})`,
  );
  const trace = `Traceback (most recent call last):\n${places.join('\n')}\nKeyError: 'target'`;

  test('comes first where it would be cut off', () => {
    expect(reasonFirst(trace, 2_000)).toBe(`KeyError: 'target'\n${trace}`);
    expect(reasonFirst(trace, 20_000)).toBe(trace);
    expect(reasonFirst(`${'long '.repeat(99)}\nlast`, 300)).toBe(`${'long '.repeat(99)}\nlast`);
  });

  test('of a long traceback begins the description of an alert', () => {
    const rule = { annotations: {} } as Parameters<typeof annotate>[0]['rule'];
    expect(annotate({ rule, labels: {} }, '', trace).description).toMatch(/^KeyError: 'target'\nTraceback/);
  });
});
