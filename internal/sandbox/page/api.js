// The sandbox's JSON API. Both calls throw an Error whose message says what to do.

export const get = (path) => call(path, {});

export const post = (path, body = {}) =>
  call(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });

async function call(path, options) {
  let answer;
  try {
    answer = await fetch("/sandbox/" + path, options);
  } catch {
    throw new Error("The emulated world doesn't answer. Is it still running?");
  }
  const body = await answer.json();
  if (!answer.ok) throw new Error(body.error);
  return body;
}

// oneAtATime runs one refresh at a time; requests in between cause one more refresh.
export function oneAtATime(work) {
  let running = null;
  let again = false;
  return function ask() {
    if (running) {
      again = true;
      return running;
    }
    running = work().finally(() => {
      running = null;
      if (again) {
        again = false;
        return ask();
      }
    });
    return running;
  };
}
