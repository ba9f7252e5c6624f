/** Attempts of the hostile program to leave the network of its run. An attempt succeeds if it reaches something, and fails by throwing. */
import { execFileSync } from "node:child_process"
import { createSocket } from "node:dgram"
import * as dns from "node:dns/promises"
import * as fs from "node:fs"
import { connect } from "node:net"

const { abstract, granted, hostNetwork, outsideSockets, ports, temporary } = JSON.parse(
  process.env["HOSTILE"] ?? "{}"
)
const PROXY = { host: "127.0.0.1", port: 17_843 }
const WITHIN_MS = 2_000

const python = (script, ...args) =>
  execFileSync("python3", ["-c", script, ...args], { stdio: ["ignore", "pipe", "ignore"], timeout: 5_000 })
const shell = (script) =>
  execFileSync("/bin/sh", ["-c", script], { stdio: ["ignore", "pipe", "ignore"], timeout: 5_000 })

/** What a server sends after a text, until it closes. */
const answerOf = (address, text = "") =>
  new Promise((resolve, reject) => {
    const socket = connect(address, () => socket.write(text))
    let answer = ""
    socket.setTimeout(WITHIN_MS, () => socket.destroy(new Error("no answer")))
    socket.setEncoding("utf8").on("data", (more) => (answer += more))
    socket.once("error", reject)
    socket.once("close", () => resolve(answer))
  })

const reached = async (address) => {
  if ((await answerOf(address)) === "") throw new Error("it said nothing")
}

const replied = (address, port) =>
  new Promise((resolve, reject) => {
    const socket = createSocket(address.includes(":") ? "udp6" : "udp4")
    const end = (act) => {
      clearTimeout(timer)
      socket.close()
      act()
    }
    const timer = setTimeout(() => end(() => reject(new Error("no reply"))), 300)
    socket.once("message", () => end(resolve))
    socket.once("error", (error) => end(() => reject(error)))
    socket.connect(port, address, (error) => (error ? end(() => reject(error)) : socket.send("x")))
  })

/** Fails unless the proxy accepts the request. */
const accepted = async (text) => {
  const answer = await answerOf(PROXY, text)
  if (!/^HTTP\/1\.[01] 2/.test(answer)) throw new Error(answer.split("\r\n")[0] || "closed")
}
const tunnelled = (authority) => accepted(`CONNECT ${authority} HTTP/1.1\r\nHost: x\r\n\r\n`)
const forwarded = (url, more = "") => accepted(`GET ${url} HTTP/1.1\r\nHost: model.test\r\n${more}\r\n`)

export const networkAttempts = {
  "a port of the host": () => reached({ host: "127.0.0.1", port: ports.tcp4 }),
  "a port of the host by name": () => reached({ host: "localhost", port: ports.tcp4 }),
  "a port of the host over IPv6": () => reached({ host: "::1", port: ports.tcp6 }),
  "a port of the host by the address of no host": () => reached({ host: "0.0.0.0", port: ports.tcp4 }),
  "a port of the host as a mapped address": () => reached({ host: "::ffff:127.0.0.1", port: ports.tcp4 }),
  "a host of the internet": () => reached({ host: "1.1.1.1", port: 443 }),
  "a host of the internet over IPv6": () => reached({ host: "2606:4700:4700::1111", port: 443 }),
  "a service with metadata": () => reached({ host: "169.254.169.254", port: 80 }),
  "UDP to the host": () => replied("127.0.0.1", ports.udp),
  "UDP to the internet": () => replied("1.1.1.1", 53),
  "a name by the system": () => dns.lookup("example.com"),
  "a name by a server": () => new dns.Resolver({ timeout: 300, tries: 1 }).resolve4("example.com"),
  "an abstract socket of the host": () => reached({ path: `\0${abstract}` }),
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
  "the network of the host without its number": () => {
    if (fs.readlinkSync("/proc/self/ns/net") !== hostNetwork) throw new Error("another network")
  },
  "removal of the socket": () => fs.unlinkSync("/run/corral/proxy"),
  "replacement of the socket": () => fs.renameSync("/run/corral/proxy", "/run/corral/other"),
  "a file next to the socket": () => fs.writeFileSync("/run/corral/file", "x"),
  "CONNECT to the host": () => tunnelled(`127.0.0.1:${ports.tcp4}`),
  "CONNECT to the host by name": () => tunnelled(`localhost:${ports.tcp4}`),
  "CONNECT to the host by a name with a dot": () => tunnelled(`localhost.:${ports.tcp4}`),
  "CONNECT to the host over IPv6": () => tunnelled(`[::1]:${ports.tcp6}`),
  "CONNECT to a mapped address": () => tunnelled(`[::ffff:127.0.0.1]:${ports.tcp4}`),
  "CONNECT to a translated address": () => tunnelled(`[64:ff9b::7f00:1]:${ports.tcp4}`),
  "CONNECT to a decimal address": () => tunnelled(`2130706433:${ports.tcp4}`),
  "CONNECT to a hexadecimal address": () => tunnelled(`0x7f000001:${ports.tcp4}`),
  "CONNECT to an octal address": () => tunnelled(`0177.0.0.1:${ports.tcp4}`),
  "CONNECT to a short address": () => tunnelled(`127.1:${ports.tcp4}`),
  "CONNECT to the address of no host": () => tunnelled(`0.0.0.0:${ports.tcp4}`),
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
