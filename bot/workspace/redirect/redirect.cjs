// Makes an app on Node.js call SLACK_API_URL in place of slack.com; its code stays as it is.
// `leadhand slack -- node app.js` has Node.js load this first, by NODE_OPTIONS. @slack/web-api calls by fetch since
// version 8 and by https before: both are led elsewhere, for slack.com alone.
"use strict";

const http = require("node:http");
const https = require("node:https");
const { syncBuiltinESMExports } = require("node:module");

const SLACK = new Set(["slack.com", "www.slack.com"]);
const target = process.env.SLACK_API_URL ? new URL(process.env.SLACK_API_URL) : null;

/** The same path and query at the local workspace. */
function moved(url) {
  const here = new URL(url);
  here.protocol = target.protocol;
  here.host = target.host;
  return here;
}

const isSlack = (url) => url.protocol === "https:" && SLACK.has(url.hostname);

/** The address of a call of https.request, in whichever of its forms it was made. */
function addressOf(first, options) {
  if (typeof first === "string" || first instanceof URL) return new URL(first);
  const host = options.hostname ?? String(options.host ?? "localhost").split(":")[0];
  return new URL(`https://${host}${options.path ?? "/"}`);
}

function redirectFetch() {
  const fetchSlack = globalThis.fetch;
  if (!fetchSlack) return;
  globalThis.fetch = function fetch(input, init) {
    const url = new URL(input instanceof Request ? input.url : String(input), "http://localhost");
    if (!isSlack(url)) return fetchSlack(input, init);
    return fetchSlack(input instanceof Request ? new Request(moved(url), input) : moved(url), init);
  };
}

function redirectHttps() {
  for (const name of ["request", "get"]) {
    const call = https[name];
    https[name] = function redirected(first, second, third) {
      const apart = typeof first === "string" || first instanceof URL;
      const options = apart ? (typeof second === "object" ? second : {}) : first;
      const url = addressOf(first, options);
      if (!isSlack(url)) return call.call(https, first, second, third);
      const { agent, agents, host, hostname, port, protocol, _defaultAgent, ...rest } = options;
      const headers = Object.fromEntries(Object.entries(rest.headers ?? {}).filter(([key]) => key.toLowerCase() !== "host"));
      const done = [first, second, third].find((each) => typeof each === "function");
      return http[name](moved(url), { ...rest, headers, path: options.path ?? url.pathname + url.search }, done);
    };
  }
  syncBuiltinESMExports();
}

if (target) {
  redirectFetch();
  redirectHttps();
}
