/**
 * Lets requests take turns with the watch, whatever their clients send at once. Node hands over all requests that came
 * in one packet in one turn of the event loop, which may be more than a thousand. Here at most two requests begin in
 * each turn, and on each connection one is in progress. Those behind it (pipelining) wait for its answer to be read.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { LIMITS } from '../limits.ts';

type Asked = readonly [request: IncomingMessage, response: ServerResponse];

/** Of the two of each turn, the first is an urgent one. `reached` is called for each connection on which too many requests wait. */
export function takeTurns(
  answer: RequestListener,
  isUrgent: (request: IncomingMessage) => boolean,
  reached: () => void,
): RequestListener {
  /** Requests behind the one in progress; absent while none is. */
  const behind = new WeakMap<Socket, Asked[]>();
  const urgent: Asked[] = [];
  const others: Asked[] = [];

  function beginNext(): void {
    const begun = [urgent.shift(), others.shift()];
    if (urgent.length + others.length > 0) setImmediate(beginNext);
    for (const next of begun) if (next && !next[1].destroyed) answer(...next);
  }

  function enter(asked: Asked): void {
    const [request, response] = asked;
    response.once('close', () => {
      const next = behind.get(request.socket)?.shift();
      if (next && !request.socket.destroyed) enter(next);
      else behind.delete(request.socket);
    });
    if (urgent.length + others.length === 0) setImmediate(beginNext);
    (isUrgent(request) ? urgent : others).push(asked);
  }

  return (request, response) => {
    const { socket } = request;
    const waiting = behind.get(socket);
    // What came in the same packet is still handed over after its connection was closed.
    if (socket.destroyed) return;
    if (!waiting) {
      behind.set(socket, []);
      enter([request, response]);
    } else if (waiting.length < LIMITS.pipelined_requests.most) waiting.push([request, response]);
    else {
      reached();
      socket.destroy();
    }
  };
}
