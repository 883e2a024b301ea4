/**
 * Lets requests take turns with the watch, whatever their clients send at once. Node would parse and begin all requests
 * that came in one packet in one turn of the event loop, and there is room for more than a thousand. Here at most two
 * requests begin in each turn, and on each connection one is in progress. While others wait behind it (pipelining),
 * nothing more of the connection is read. Node must answer no request by itself: once it has too many answers to write,
 * it pauses the connection, and reading on would end the process.
 */
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

type Asked = readonly [request: IncomingMessage, response: ServerResponse];

/** The most bytes of a connection that are parsed before it is known whether requests wait on it. */
const SLICE_BYTES = 1_024;

/** Answers the requests to `server`. Of the two of each turn, the first is an urgent one. */
export function takeTurns(
  server: Server,
  answer: RequestListener,
  isUrgent: (request: IncomingMessage) => boolean,
): void {
  /** The requests behind the one in progress; absent while none is. */
  const behind = new WeakMap<Socket, Asked[]>();
  const urgent: Asked[] = [];
  const others: Asked[] = [];

  /** Whether this turn has begun its requests already. */
  let isOver = false;

  function beginNext(): void {
    const begun = [urgent.shift(), others.shift()].filter((one) => one !== undefined);
    isOver = begun.length > 0;
    if (isOver) setImmediate(beginNext);
    for (const [request, response] of begun) if (!response.destroyed) answer(request, response);
  }

  function enter(asked: Asked): void {
    const [request, response] = asked;
    const { socket } = request;
    response.once('close', () => {
      const next = behind.get(socket)?.shift();
      if (next && !socket.destroyed) return enter(next);
      behind.delete(socket);
      socket.resume();
    });
    (isUrgent(request) ? urgent : others).push(asked);
    if (!isOver) beginNext();
  }

  server.on('request', (request, response) => {
    const waiting = behind.get(request.socket);
    if (waiting) return void waiting.push([request, response]);
    behind.set(request.socket, []);
    enter([request, response]);
  });
  // Of a request with an `Expect` that Node does not know; unheard, Node refuses it by itself.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));

  // With TLS, requests come on the second.
  for (const opened of ['connection', 'secureConnection']) server.on(opened, readInSlices);

  function readInSlices(socket: Socket): void {
    // The server has added its parser when the connection was opened.
    const [parse] = socket.listeners('data') as ((data: Buffer) => void)[];
    if (!parse) return;
    socket.off('data', parse);
    socket.on('data', (data: Buffer) => {
      let read = 0;
      for (; read < data.length && !behind.get(socket)?.length; read += SLICE_BYTES) {
        // After a mistake in a request, nothing more is read.
        if (!socket.writable) return;
        parse(data.subarray(read, read + SLICE_BYTES));
      }
      if (read >= data.length) return;
      socket.pause();
      socket.unshift(data.subarray(read));
    });
  }
}
