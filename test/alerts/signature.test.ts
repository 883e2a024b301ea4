import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MAX_SIGNATURE_LENGTH, signature } from '../../src/alerts/signature.ts';

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

  test('stays the same when what differs between two failures differs', () => {
    const parts = fc.record({
      id: fc.uuid(),
      count: fc.nat(),
      quoted: fc.string().filter((text) => !/["\\\n\r\u2028\u2029{}]/.test(text)),
      at: fc.date({ noInvalidDate: true, min: new Date(0), max: new Date('2100-01-01') }),
      path: fc.webPath().map((path) => path.replaceAll("'", '')),
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
      { numRuns: 300 },
    );
  });

  test('is one short line for any text, and quickly', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 400 }), (message) => {
        const found = signature(message);
        expect([...found].length).toBeLessThanOrEqual(MAX_SIGNATURE_LENGTH);
        expect(found).not.toMatch(/[\n\r\t]/);
        expect(found.isWellFormed()).toBe(true);
      }),
    );
    for (const part of ['x', 'x@', '"', "'", '/a', 'a-', '1 ', '{', 'a://', '\\']) {
      expect([...signature(part.repeat(500_000))].length).toBeLessThanOrEqual(MAX_SIGNATURE_LENGTH);
    }
  });

  test('different causes stay apart', () => {
    expect(signature('File not found')).not.toBe(signature('Access denied'));
  });
});
