/** Attempts of the hostile program to leave the network of its run. An attempt succeeds if it reaches something, and fails by throwing. */
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import {
  accepted,
  networkAttempts as safeAttempts,
  PROXY,
  reached,
  replied,
  tunnelled
} from "../../src/confinement/probe/NetworkAttempts.ts"

const { abstract, granted, hostNetwork, outsideSockets, ports, temporary } = JSON.parse(
  process.env["HOSTILE"] ?? "{}"
)

const python = (script, ...args) =>
  execFileSync("python3", ["-c", script, ...args], { stdio: ["ignore", "pipe", "ignore"], timeout: 5_000 })
const shell = (script) =>
  execFileSync("/bin/sh", ["-c", script], { stdio: ["ignore", "pipe", "ignore"], timeout: 5_000 })

const forwarded = (url, more = "") => accepted(`GET ${url} HTTP/1.1\r\nHost: model.test\r\n${more}\r\n`)

export const networkAttempts = {
  ...safeAttempts({ abstract, hostNetwork, ports }),
  "a port of the host as a mapped address": () => reached({ host: "::ffff:127.0.0.1", port: ports.tcp4 }),
  "a host of the internet": () => reached({ host: "1.1.1.1", port: 443 }),
  "a host of the internet over IPv6": () => reached({ host: "2606:4700:4700::1111", port: 443 }),
  "a service with metadata": () => reached({ host: "169.254.169.254", port: 80 }),
  "UDP to the internet": () => replied("1.1.1.1", 53),
  "a socket of containers": () => reached({ path: outsideSockets.docker }),
  "a socket of a message bus": () => reached({ path: outsideSockets.bus }),
  "the socket of another run": () => reached({ path: outsideSockets.sibling }),
  "its own socket by the path of the host": () => reached({ path: `${temporary}.net/proxy` }),
  "a raw socket": () =>
    python("import socket\nsocket.socket(socket.AF_INET,socket.SOCK_RAW,socket.IPPROTO_ICMP)"),
  "a packet socket": () => python("import socket\nsocket.socket(socket.AF_PACKET,socket.SOCK_RAW)"),
  "a new device": () => shell("ip link add corral0 type dummy || exit 1"),
  "another address": () => shell("ip addr add 10.9.8.7/24 dev lo || exit 1"),
  "the network of the host": () =>
    python("import os,sys\nos.setns(os.open(sys.argv[1],os.O_RDONLY),0)", "/proc/1/ns/net"),
  "removal of the socket": () => fs.unlinkSync("/run/corral/proxy"),
  "replacement of the socket": () => fs.renameSync("/run/corral/proxy", "/run/corral/other"),
  "a file next to the socket": () => fs.writeFileSync("/run/corral/file", "x"),
  "CONNECT to the host by a name with a dot": () => tunnelled(`localhost.:${ports.tcp4}`),
  "CONNECT to a translated address": () => tunnelled(`[64:ff9b::7f00:1]:${ports.tcp4}`),
  "CONNECT to a hexadecimal address": () => tunnelled(`0x7f000001:${ports.tcp4}`),
  "CONNECT to an octal address": () => tunnelled(`0177.0.0.1:${ports.tcp4}`),
  "CONNECT to a short address": () => tunnelled(`127.1:${ports.tcp4}`),
  "CONNECT to a private address": () => tunnelled("10.0.0.1:443"),
  "CONNECT to metadata": () => tunnelled("169.254.169.254:80"),
  "CONNECT to metadata of another cloud": () => tunnelled("[fd00:ec2::254]:80"),
  "CONNECT to a declared name that leads to the host": () => tunnelled(`rebound.test:443`),
  "CONNECT to a declared name that leads to metadata": () => tunnelled("metadata.test:443"),
  "CONNECT to another name": () => tunnelled("other.test:443"),
  "CONNECT to another port of a declared host": () => tunnelled("model.test:22"),
  "CONNECT with a user": () => tunnelled("model.test@other.test:443"),
  "CONNECT with a declared host in front": () => tunnelled("model.test:443@other.test:443"),
  "CONNECT with a declared host behind": () => tunnelled("other.test#model.test:443"),
  "CONNECT with an encoded end": () => tunnelled("other.test%00.model.test:443"),
  "CONNECT with a scheme": () => tunnelled("http://other.test:443"),
  "CONNECT with a suffix of a declared host": () => tunnelled("notmodel.test:443"),
  "CONNECT to the proxy": () => tunnelled(`127.0.0.1:${PROXY.port}`),
  "plain HTTP to the host": () => forwarded(`http://127.0.0.1:${ports.tcp4}/`),
  "plain HTTP to another name": () => forwarded("http://other.test/"),
  "plain HTTP with a user": () => forwarded("http://model.test@other.test/"),
  "plain HTTP to a decimal address": () => forwarded(`http://2130706433:${ports.tcp4}/`),
  "HTTPS as a request": () => forwarded("https://other.test/"),
  "a request without an address": () => forwarded("/"),
  "an upgrade to another name": () =>
    forwarded("http://other.test/", "Connection: Upgrade\r\nUpgrade: websocket\r\n"),
  "a request with two lengths": () =>
    accepted(
      `POST http://model.test/ HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET http://other.test/ HTTP/1.1\r\n\r\n`
    ),
  "fetch without the proxy's variables": () =>
    shell(
      `unset HTTP_PROXY HTTPS_PROXY ALL_PROXY http_proxy https_proxy all_proxy NODE_USE_ENV_PROXY; "${process.execPath}" -e 'fetch("http://127.0.0.1:${ports.tcp4}/").catch(() => process.exit(1))'`
    ),
  "fetch through the proxy": () =>
    shell(
      `"${process.execPath}" -e 'fetch("http://other.test/").then((a) => process.exit(a.ok ? 0 : 1), () => process.exit(1))'`
    )
}

export const allowedConnections = {
  "a declared host": () => forwarded("http://model.test/", "Connection: close\r\n"),
  "a declared host by fetch": () =>
    shell(
      `"${process.execPath}" -e 'fetch("http://model.test/").then((a) => process.exit(a.ok ? 0 : 1), () => process.exit(1))'`
    ),
  "a granted port of the host": () => reached({ host: "127.0.0.1", port: granted })
}
