import { cronProblem } from '../cron.ts';
import { isTimezone } from '../instant.ts';
import type { Check } from './check.ts';
import type { DigestConfig } from './config.ts';
import { digestShape } from './file-shape.ts';
import { checkReceiver } from './known-receiver.ts';
import { readList } from './read-list.ts';
import { receiverNames } from './read-receivers.ts';

export function readDigests(check: Check): DigestConfig[] {
  const receivers = receiverNames(check);
  const names = new Set<string>();
  return readList(check, ['digests']).flatMap((path) => {
    const receiver = check.raw([...path, 'receiver']);
    if (typeof receiver === 'string') checkReceiver(check, [...path, 'receiver'], receiver, receivers);
    const digest = check.read(digestShape, path);
    if (!digest) return [];
    if (names.has(digest.name)) check.problem([...path, 'name'], 'another digest has this name already');
    names.add(digest.name);
    const { cron, timezone } = digest;
    const place = isTimezone(timezone) ? 'cron' : 'timezone';
    const mistake = cronProblem(cron, timezone);
    const isHidden = check.isExpanded([...path, place]);
    if (mistake) {
      check.problem(
        [...path, place],
        isHidden ? `is not a ${HIDDEN[place]} (it comes from the environment)` : mistake,
      );
      return [];
    }
    return [{ name: digest.name, cron, timezone, receiver: digest.receiver, skipEmpty: digest.skip_empty }];
  });
}

const HIDDEN = { cron: 'valid cron expression', timezone: 'time zone' };
