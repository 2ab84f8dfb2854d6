// SPDX-License-Identifier: MIT
//
// servers: the Redis of a cluster: one server, or a Redis Cluster, which looks like one: a command goes to the master of the
// shard that its key names, one without a key to all of them, and they end, pause and start again together.
import { RedisClient, startRedis } from './redis.mjs';
import { SERVERS } from './shards.mjs';
import { startRedisCluster } from './topology.mjs';

// As startRedis. n: how many servers; as many as the environment says. Several are the masters of a Redis Cluster.
export function startServers(options, n = SERVERS) {
  return n === 1 ? startRedis(options) : startRedisCluster({ masters: n, replicas: 0, ...options });
}

// As a RedisClient, of what startServers() or startRedis() has started.
export function openClient(redis, encoding) {
  return redis.open ? redis.open(encoding) : new RedisClient(redis.port, encoding);
}
