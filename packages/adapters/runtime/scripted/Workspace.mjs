/** The workspace as the agent sees it: files inside it, and nothing else. */
import { spawn } from "node:child_process"
import { lstat, mkdir, readdir, readFile, realpath, writeFile } from "node:fs/promises"
import path from "node:path"

const root = await realpath(process.cwd())

/** The absolute path inside the workspace, symbolic links followed; throws for any other. */
const inside = async (name) => {
  const target = path.resolve(root, name)
  let existing = target
  for (;;) {
    const real = await realpath(existing).catch(() => undefined)
    if (real !== undefined) {
      const whole = path.join(real, path.relative(existing, target))
      if (whole !== root && !whole.startsWith(root + path.sep))
        throw new Error(`${name} is outside the workspace`)
      return whole
    }
    // A link to nowhere could be made to lead anywhere by writing through it.
    if (await lstat(existing).catch(() => undefined)) throw new Error(`${name} cannot be followed`)
    existing = path.dirname(existing)
  }
}

export const listing = async () => {
  const entries = await readdir(root, { withFileTypes: true })
  return entries
    .filter((entry) => entry.name !== ".git" && entry.name !== "node_modules")
    .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name))
    .sort()
    .slice(0, 200)
}

/** A unified diff of one hunk: what is equal at both ends is left out but for three lines. */
export const unifiedDiff = (name, before, after) => {
  const linesOf = (text) => (text === "" ? [] : text.replace(/\n$/, "").split("\n"))
  const [old, now] = [linesOf(before ?? ""), linesOf(after)]
  let head = 0
  while (head < old.length && head < now.length && old[head] === now[head]) head++
  let tail = 0
  while (tail < old.length - head && tail < now.length - head && old.at(-1 - tail) === now.at(-1 - tail))
    tail++
  const from = Math.max(0, head - 3)
  const after3 = Math.min(3, tail)
  const range = (lines) => {
    const count = lines.length - tail + after3 - from
    return `${count === 0 ? from : from + 1},${count}`
  }
  return [
    before === undefined ? "--- /dev/null" : `--- a/${name}`,
    `+++ b/${name}`,
    `@@ -${range(old)} +${range(now)} @@`,
    ...old.slice(from, head).map((line) => ` ${line}`),
    ...old.slice(head, old.length - tail).map((line) => `-${line}`),
    ...now.slice(head, now.length - tail).map((line) => `+${line}`),
    ...now.slice(now.length - tail, now.length - tail + after3).map((line) => ` ${line}`),
    ""
  ].join("\n")
}

/** The bytes of a file; fails where there is none. */
export const bytesOf = async (name) => readFile(await inside(name))

/** The text of a file; fails where there is none. */
export const textOf = async (name) => readFile(await inside(name), "utf8")

/** Writes the file and answers whether it was `created` or `modified`. */
export const writeText = async (name, content) => {
  const file = await inside(name)
  const before = await readFile(file, "utf8").catch(() => undefined)
  await mkdir(path.dirname(file), { recursive: true })
  await writeFile(file, content)
  return before === undefined ? "created" : "modified"
}

/** Node loads an HTTP client at its start if the last variable is set, which this program does not need. */
const toolEnvironment = () => {
  const { SCRIPTED_TOOLS_USE_PROXY: use, ...env } = process.env
  return use === undefined ? env : { ...env, NODE_USE_ENV_PROXY: "1" }
}

/** Runs a command in the workspace and keeps up to a million characters of what it prints. */
export const runCommand = (command, signal) =>
  new Promise((resolve, reject) => {
    const child = spawn("sh", ["-c", command], {
      cwd: root,
      env: toolEnvironment(),
      stdio: ["ignore", "pipe", "pipe"],
      signal
    })
    let output = ""
    const keep = (chunk) => {
      if (output.length < 1_000_000) output += chunk
    }
    child.stdout.setEncoding("utf8").on("data", keep)
    child.stderr.setEncoding("utf8").on("data", keep)
    child.on("error", reject)
    child.on("close", (code) => resolve({ code: code ?? -1, output }))
  })
