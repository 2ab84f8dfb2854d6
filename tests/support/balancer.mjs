// SPDX-License-Identifier: MIT
//
// balancer: one address in front of nodes, where a test says which node gets a request.
//
//   const balancer = await startBalancer();           before the nodes start, since they may have to know its address
//   balancer.choose = ({ method, path }) => cluster.nodes[0].url;
//   balancer.headers = { authorization: 'Bearer …' };       added to each request
//   balancer.url, balancer.requests                   [{ method, path, node }]
import http from 'node:http';
import { pipeline } from 'node:stream';

class Balancer {
  requests = [];

  constructor() {
    this.server = http.createServer((request, response) => this.#pass(request, response));
  }

  async start() {
    await new Promise((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    this.server.unref();
    this.url = `http://127.0.0.1:${this.server.address().port}`;
    return this;
  }

  #pass(request, response) {
    const path = request.url.split('?')[0];
    const node = this.choose({ method: request.method, path });
    this.requests.push({ method: request.method, path, node });
    const passed = http.request(new URL(request.url, node), { method: request.method, headers: { ...request.headers, ...this.headers } }, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      pipeline(answer, response, () => {}); // which breaks off if the node does
    });
    passed.on('error', () => response.destroy());
    response.on('close', () => passed.destroy());
    request.pipe(passed);
  }
}

export const startBalancer = () => new Balancer().start();
