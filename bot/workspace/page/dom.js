// Building and patching the document. Data only ever becomes text nodes or checked attributes:
// nothing here parses HTML, and the style attribute is only touched through the CSSOM (the page's
// content security policy forbids inline styles).

const SVG = "http://www.w3.org/2000/svg";

/** el("p", {class: "x", data: {id: 1}, onclick: fn}, "text", node): an element with its children. */
export function el(tag, props = {}, ...children) {
  return fill(document.createElement(tag), props, children);
}

/** `el` for elements of SVG. */
export function svg(tag, props = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), props, children);
}

function fill(node, props, children) {
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    setProperty(node, name, value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

function setProperty(node, name, value) {
  if (name.startsWith("on")) {
    node.handlers = { ...node.handlers, [name]: value };
    node[name] = value;
  } else if (name === "data") {
    for (const [key, entry] of Object.entries(value)) {
      if (entry !== null && entry !== undefined) node.dataset[key] = entry;
    }
  } else if (name === "style") {
    for (const [key, entry] of Object.entries(value)) node.style.setProperty(key, entry);
  } else if (name === "whole" || name === "key") {
    node[name] = value;
  } else {
    node.setAttribute(name, value === true ? "" : value);
  }
}

/**
 * Makes `old` look like `next` and returns the node that stands in the document afterwards.
 *
 * Nodes that stay keep their focus, scroll position, running animation and opened details. A node
 * with `whole` is either kept with all its state (the same value) or exchanged altogether.
 */
export function morph(old, next) {
  const same = old.nodeName === next.nodeName && old.key === next.key && old.whole === next.whole;
  if (!same || old.nodeType !== next.nodeType) {
    old.replaceWith(next);
    return next;
  }
  if (old.nodeType === Node.TEXT_NODE) {
    if (old.data !== next.data) old.data = next.data;
    return old;
  }
  if (old.nodeType !== Node.ELEMENT_NODE || old.whole !== undefined) return old;
  copyAttributes(old, next);
  copyHandlers(old, next);
  morphChildren(old, [...next.childNodes]);
  return old;
}

/** Makes the children of `parent` look like `next`, a list of nodes and strings. */
export function morphChildren(parent, next) {
  const nodes = next
    .flat(Infinity)
    .filter((node) => node !== null && node !== undefined && node !== false)
    .map((node) => (typeof node === "string" ? document.createTextNode(node) : node));
  const olds = [...parent.childNodes];
  nodes.forEach((node, index) => {
    if (olds[index] === node) return;
    if (olds[index]) morph(olds[index], node);
    else parent.append(node);
  });
  olds.slice(nodes.length).forEach((node) => node.remove());
}

function copyAttributes(old, next) {
  // Whether details are open is the reader's own choice.
  const kept = old.nodeName === "DETAILS" ? ["open", "style"] : ["style"];
  for (const { name } of [...old.attributes]) {
    if (!next.hasAttribute(name) && !kept.includes(name)) old.removeAttribute(name);
  }
  for (const { name, value } of [...next.attributes]) {
    if (!kept.includes(name) && old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  if (old.style.cssText !== next.style.cssText) old.style.cssText = next.style.cssText;
}

function copyHandlers(old, next) {
  for (const name of Object.keys(old.handlers ?? {})) old[name] = null;
  for (const [name, handler] of Object.entries(next.handlers ?? {})) old[name] = handler;
  old.handlers = next.handlers;
}

/** The address as a string where it is one a person may follow (http, https, mailto), else null. */
export function safeUrl(text) {
  let url;
  try {
    url = new URL(text);
  } catch {
    return null;
  }
  return ["http:", "https:", "mailto:"].includes(url.protocol) ? url.href : null;
}

/** A link that opens elsewhere and tells nobody where it came from; plain text where it is unsafe. */
export function link(address, ...children) {
  const href = safeUrl(address);
  if (!href) return el("span", {}, ...children, children.length ? ` (${address})` : address);
  return el(
    "a",
    { href, target: "_blank", rel: "noopener noreferrer nofollow", title: href },
    ...(children.length ? children : [address]),
  );
}
