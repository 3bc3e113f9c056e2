// A server of this tree on a folder of its own, and calls to it.

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export class Server {
  static async start(program, ...options) {
    const server = new Server();
    server.folder = mkdtempSync(join(tmpdir(), 'fencehold-page-'));
    const listen = ['serve', '--data', join(server.folder, 'data'), '--listen', '127.0.0.1:0', '--durability', 'none'];
    server.process = spawn(program, [...listen, ...options], { stdio: ['ignore', 'ignore', 'pipe'] });
    server.url = await new Promise((resolve, reject) => {
      let said = '';
      server.process.on('exit', () => reject(new Error(`the server ended: ${said}`)));
      server.process.stderr.setEncoding('utf8').on('data', (chunk) => {
        said += chunk;
        const url = /serving (http\S+) from/.exec(said);
        if (url) resolve(url[1]);
      });
    });
    return server;
  }

  async post(path, body, token = undefined) {
    const headers = { 'Content-Type': 'application/json', ...(token ? { Authorization: `Bearer ${token}` } : {}) };
    const answer = await fetch(this.url + path, { method: 'POST', headers, body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  }

  async lock(op, name, members = {}, token = undefined) {
    return (await this.post('/api/v1/locks', [{ op, name, ...members }], token)).results[0];
  }

  acquire(name, owner, members = {}, token = undefined) {
    return this.lock('acquire', name, { owner, ttlSeconds: 3600, ...members }, token);
  }

  async holders(name) {
    return (await this.lock('get', name)).holders;
  }

  /** Makes many held locks, named by `name(n)`. */
  async fill(count, name) {
    const since = new Date(Date.now() - 60000).toISOString().replace('Z', '+00:00');
    const calls = [];
    for (let from = 0; from < count; from += 256) {
      calls.push(Array.from({ length: Math.min(256, count - from) }, (_, n) => ({
        op: 'put', ns: 'queen-locks', key: `${name(from + n)}#0`, value: { owner: `box-${(from + n) % 40}:1:abc`, since },
        ttlSeconds: 7200 })));
    }
    await Promise.all([0, 1, 2, 3].map(async () => {
      for (let call = calls.pop(); call; call = calls.pop()) await this.post('/api/v1/kv', call);
    }));
  }

  stop() {
    this.process.removeAllListeners('exit');
    this.process.kill('SIGKILL');
    rmSync(this.folder, { recursive: true, force: true });
  }
}
