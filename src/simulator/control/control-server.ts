/**
 * A second port of the simulated service, at which people and tests tell what happens there. It is for this machine
 * only: whoever reaches it changes the world.
 */
import { codeOf } from '../../errors.ts';
import { allowedHosts, isAllowedHost, isForeign } from '../../http/request-source.ts';
import type { HttpResponse } from '../../http/transport.ts';
import type { ApiRequest } from '../answers/answer-operations.ts';
import { route, routed } from '../answers/routing.ts';
import { jsonAnswer } from '../answers/simulated-answer.ts';
import { openServer, type SimulatorServer } from '../answers/simulator-server.ts';
import type { Endpoint, Stage } from './endpoint.ts';
import { ENDPOINTS } from './endpoints.ts';

const ROUTES = ENDPOINTS.map((endpoint) => route(endpoint.path, endpoint.method, endpoint.path, endpoint));

/** Port 0 takes a free port. Throws `port_in_use` if it cannot listen there. */
export function openControl(stage: Stage, host: string, port: number): Promise<SimulatorServer> {
  const hosts = allowedHosts(host, '');
  const respond = (request: ApiRequest) => refused(hosts, request) ?? answer(stage, request);
  return openServer({
    exchange: (request) => ({ kind: 'answer', delayMs: 0, response: respond(request) }),
    tooLarge: () => refusal(413, 'the body is too large'),
    clock: stage.clock,
    host,
    port,
  });
}

/**
 * Web pages must not change the world of whoever reads them. Browsers name the origin of what changes something, so
 * programs may send any type of content: curl says that its bodies are forms.
 */
function refused(hosts: ReadonlySet<string> | undefined, request: ApiRequest): HttpResponse | undefined {
  const headers = new Map(Object.entries(request.headers));
  const header = (name: string) => headers.get(name);
  if (hosts && !isAllowedHost(hosts, header('host'))) {
    return refusal(421, 'this name is not served here: write localhost or 127.0.0.1');
  }
  return isForeign({ method: request.method, header }, '')
    ? refusal(403, 'this was sent by a web page: only programs of this machine are answered, such as curl')
    : undefined;
}

function answer(stage: Stage, { method, path, headers, body = '' }: ApiRequest): HttpResponse {
  const [place = '/'] = path.split('?');
  if (place === '/' && method === 'GET') {
    const type = 'text/plain; charset=utf-8';
    return { status: 200, headers: { 'content-type': type }, body: listOf(`http://${headers.host}`) };
  }
  const { route: found, ids } = routed(ROUTES, method, place, '');
  if (!found) return refusal(404, `there is nothing under ${method} ${place}; GET / lists what there is`);
  try {
    stage.world.settle();
    return jsonAnswer(found.answer.act(stage, ids, body));
  } catch (error) {
    const code = codeOf(error);
    if (code !== 'usage' && code !== 'not_found') throw error;
    return refusal(code === 'usage' ? 400 : 404, (error as Error).message);
  }
}

/** As the daemon's API does. Each line of the error says what is wrong with one thing. */
function refusal(status: number, error: string): HttpResponse {
  return { ...jsonAnswer({ error }), status };
}

const INTRODUCTION = `Tells the simulated service what happens there. Bodies are JSON. Nests and Birds are named by id or name. An instant is
such as 2026-07-02T12:00:00Z, or a duration from now such as 5s or -10m.
`;

function listOf(origin: string): string {
  return [INTRODUCTION, ...ENDPOINTS.map((endpoint) => listed(endpoint, origin))].join('\n');
}

function listed({ method, path, does, example, fields }: Endpoint, origin: string): string {
  const body = example ? `-d '${JSON.stringify(example)}' ` : '';
  const verb = method === 'DELETE' ? '-X DELETE ' : '';
  return [
    `${method} /${path}  ${does}`,
    ...(method === 'GET' ? [] : [`    curl ${verb}${body}'${origin}/${path}'`]),
    ...Object.entries(fields).map(([name, about]) => `    ${name.padEnd(14)}${about}`),
    '',
  ].join('\n');
}
