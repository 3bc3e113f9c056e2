// A headless Chromium, driven over a pipe with its own protocol.

import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';

const LIMIT_MS = 20000;    // for one answer of the browser, and for whatever a test waits for

export class Browser {
  #process; #pending = new Map(); #listeners = []; #next = 1; #rest = '';

  constructor(program, folder) {
    this.#process = spawn(program, ['--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run',
      '--disable-background-networking', '--disable-component-update', '--disable-extensions', `--user-data-dir=${folder}`,
      '--remote-debugging-pipe', 'about:blank'], { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
    this.#process.stdio[4].setEncoding('utf8').on('data', (chunk) => this.#read(chunk));
    this.#process.on('exit', () => {
      for (const { reject } of this.#pending.values()) reject(new Error('the browser ended'));
    });
  }

  #read(chunk) {
    const parts = (this.#rest + chunk).split('\0');
    this.#rest = parts.pop();
    for (const message of parts.map((part) => JSON.parse(part))) {
      const waiting = this.#pending.get(message.id);
      if (!waiting) {
        for (const listener of this.#listeners) listener(message);
        continue;
      }
      this.#pending.delete(message.id);
      clearTimeout(waiting.timer);
      if (message.error) waiting.reject(new Error(`${waiting.method}: ${message.error.message}`));
      else waiting.resolve(message.result);
    }
  }

  send(method, params = {}, sessionId = undefined) {
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`${method}: no answer`)), LIMIT_MS);
      this.#pending.set(id, { resolve, reject, method, timer });
      this.#process.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    });
  }

  listen(listener) {
    this.#listeners.push(listener);
  }

  /** A tab with cookies and storage of its own. */
  async tab() {
    const { browserContextId } = await this.send('Target.createBrowserContext');
    const { targetId } = await this.send('Target.createTarget', { url: 'about:blank', browserContextId });
    const { sessionId } = await this.send('Target.attachToTarget', { targetId, flatten: true });
    const tab = new Tab(this, sessionId, targetId);
    await tab.begin();
    return tab;
  }

  close() {
    this.#process.kill('SIGKILL');
  }
}

// What went wrong inside the page, whatever test is running.
const WATCH = `
  window.violations = [];
  document.addEventListener('securitypolicyviolation', (event) => {
    window.violations.push(event.violatedDirective + ' ' + event.blockedURI);
  });`;

const KEYS = {
  Tab: 9, Enter: 13, Escape: 27, ' ': 32, End: 35, Home: 36, ArrowUp: 38, ArrowDown: 40, Backspace: 8,
};

export class Tab {
  constructor(browser, session, target) {
    Object.assign(this, { browser, session, target, errors: [] });
  }

  send(method, params) {
    return this.browser.send(method, params, this.session);
  }

  async begin() {
    this.browser.listen(({ method, params, sessionId }) => {
      if (sessionId !== this.session) return;
      if (method === 'Runtime.exceptionThrown') this.errors.push(params.exceptionDetails.exception?.description ?? 'an exception');
      // An answer with an error is what some tests ask for.
      if (method === 'Log.entryAdded' && params.entry.level === 'error' && params.entry.source !== 'network') {
        this.errors.push(params.entry.text);
      }
    });
    for (const domain of ['Page', 'Runtime', 'Log', 'Network']) await this.send(`${domain}.enable`);
    await this.send('Page.addScriptToEvaluateOnNewDocument', { source: WATCH });
    await this.size(1280, 900);
  }

  size(width, height, mobile = false) {
    return this.send('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: mobile ? 2 : 1, mobile });
  }

  scheme(value) {
    return this.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value }] });
  }

  open(url) {
    return this.send('Page.navigate', { url });
  }

  /** The value of an expression, or of a function of this file that runs in the page. */
  async eval(code, ...args) {
    const expression = typeof code === 'function' ? `(${code})(...${JSON.stringify(args)})` : code;
    const { result, exceptionDetails } =
      await this.send('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  /** Waits until the expression is true, and answers its value. */
  async until(code, ...args) {
    const limit = Date.now() + LIMIT_MS;
    for (;;) {
      let value;
      try {
        value = await this.eval(code, ...args);
      } catch (error) {
        value = undefined;       // a page that is just being loaded
        if (Date.now() > limit) throw error;
      }
      if (value) return value;
      if (Date.now() > limit) throw new Error(`never true: ${code} ${JSON.stringify(args)}`);
      await new Promise((done) => setTimeout(done, 50));
    }
  }

  text(selector) {
    return this.eval((one) => document.querySelector(one).textContent, selector);
  }

  async click(selector) {
    await this.until((one) => {
      const element = document.querySelector(one);
      return element && !element.disabled && element.getClientRects().length > 0;
    }, selector);
    const place = () => this.eval((one) => {
      const element = document.querySelector(one);
      element.scrollIntoView({ block: 'center' });
      const box = element.getBoundingClientRect();
      return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
    }, selector);
    let at = await place();
    for (let turn = 0; turn < 20; turn += 1) {        // until it stands still
      await new Promise((done) => setTimeout(done, 50));
      const next = await place();
      if (next.x === at.x && next.y === at.y) break;
      at = next;
    }
    for (const type of ['mousePressed', 'mouseReleased']) {
      await this.send('Input.dispatchMouseEvent', { type, ...at, button: 'left', clickCount: 1 });
    }
  }

  async press(key, modifiers = 0) {
    const text = { Enter: '\r', ' ': ' ' }[key];
    const stroke = { key, code: key === ' ' ? 'Space' : key, windowsVirtualKeyCode: KEYS[key], modifiers };
    await this.send('Input.dispatchKeyEvent', { type: text ? 'keyDown' : 'rawKeyDown', text, ...stroke });
    await this.send('Input.dispatchKeyEvent', { type: 'keyUp', ...stroke });
  }

  type(text) {
    return this.send('Input.insertText', { text });
  }

  async shoot(file) {
    const { data } = await this.send('Page.captureScreenshot', { format: 'png' });
    writeFileSync(file, Buffer.from(data, 'base64'));
  }

  async close() {
    await this.browser.send('Target.closeTarget', { targetId: this.target });
  }
}
