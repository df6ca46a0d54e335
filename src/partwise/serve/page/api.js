// Requests to this server, and errors as people read them.

export class ServerError extends Error {
  constructor(message, where, code) {
    super(message);
    this.where = where;
    this.code = code;
  }
}

async function answer(request) {
  let response;
  try {
    response = await request;
  } catch {
    throw new ServerError("The server does not answer. Is it still running?", null, "gone");
  }
  let body;
  try {
    body = await response.json();
  } catch {
    throw new ServerError(`The server answered ${response.status} and no JSON.`, null, "odd");
  }
  if (!response.ok) {
    const error = body.error || {};
    throw new ServerError(error.message || `The server answered ${response.status}.`,
      error.where, error.code);
  }
  return body;
}

export function get(path) {
  return answer(fetch(path));
}

export function post(path, body) {
  return answer(fetch(path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  }));
}
