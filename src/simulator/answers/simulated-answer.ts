/** Builds the service's answers: JSON, empty bodies, and ProblemDetails (RFC 9457). */
import type { HttpResponse } from '../../http/transport.ts';
import { hashOf } from '../world/seeded-random.ts';

export function jsonAnswer(value: unknown): HttpResponse {
  return {
    status: 200,
    headers: { 'content-type': 'application/json; charset=utf-8' },
    body: JSON.stringify(value),
  };
}

export function emptyAnswer(status: number): HttpResponse {
  return { status, headers: {}, body: '' };
}

const PROBLEMS: Readonly<Record<number, readonly [section: string, title: string]>> = {
  400: ['15.5.1', 'Bad Request'],
  401: ['15.5.2', 'Unauthorized'],
  403: ['15.5.4', 'Forbidden'],
  404: ['15.5.5', 'Not Found'],
  405: ['15.5.6', 'Method Not Allowed'],
  413: ['15.5.14', 'Content Too Large'],
  415: ['15.5.16', 'Unsupported Media Type'],
  429: ['15.5', 'Too Many Requests'],
  500: ['15.6.1', 'An error occurred while processing your request.'],
};

/** A ProblemDetails object. Keys in `more` are added to it or replace its own. */
export function problemAnswer(
  status: number,
  instance: string,
  detail: string,
  more: Readonly<Record<string, unknown>> = {},
): HttpResponse {
  const [section, title] = PROBLEMS[status] ?? ['15', 'Error'];
  const trace = hashOf(`${instance} ${detail}`).toString(16).padStart(8, '0');
  const problem = {
    type: `https://tools.ietf.org/html/rfc9110#section-${section}`,
    title,
    status,
    detail,
    instance,
    ...more,
    traceId: `00-${trace.repeat(4)}-${trace.repeat(2)}-00`,
  };
  return {
    status,
    headers: { 'content-type': 'application/problem+json; charset=utf-8' },
    body: JSON.stringify(problem),
  };
}

/** A 400 that says what is wrong with each parameter or field. */
export function invalidAnswer(
  instance: string,
  errors: Readonly<Record<string, readonly string[]>>,
): HttpResponse {
  const title = 'One or more validation errors occurred.';
  return problemAnswer(400, instance, title, { title, errors });
}

/** The error page of a gateway in front of the service. */
export function gatewayAnswer(status: number, title: string): HttpResponse {
  return {
    status,
    headers: { 'content-type': 'text/html' },
    body: `<html>\r\n<head><title>${title}</title></head>\r\n<body>\r\n<center><h1>${title}</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n`,
  };
}
