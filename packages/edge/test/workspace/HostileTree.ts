/** Generated trees that git and a walk could fail at, and what a snapshot has to say about them. */
import { Arbitrary, Schema } from "effect"
import { execFileSync } from "node:child_process"
import { lstatSync, mkdirSync, readdirSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs"
import { writeProgram } from "../Folder.ts"

/** A tree is made by steps at paths of up to three of these names. */
const names = [
  "a",
  "b",
  "caf\xe9",
  "line\nbreak",
  ":colon",
  "*[x]?",
  " lead",
  "-dash",
  '"quote\\',
  ".gitignore",
  ".gitattributes",
  ".gitmodules",
  ".git",
  "HEAD",
  "config",
  "x".repeat(255)
]
const kinds = [
  "file",
  "edit",
  "rules",
  "attributes",
  "pipe",
  "link",
  "loop",
  "folder",
  "huge",
  "deep",
  "repository",
  "hostile",
  "remove",
  "locked"
] as const

export const HostileStep = Schema.Struct({
  path: Schema.Array(Schema.Literals(names)).check(Schema.isMinLength(1), Schema.isMaxLength(3)),
  kind: Schema.Literals(kinds)
})
export type HostileStep = typeof HostileStep.Type
export const anySteps = Arbitrary.array(Arbitrary.schema(HostileStep), { maxLength: 12 })

const bytes = (root: string, parts: ReadonlyArray<string>): Buffer =>
  Buffer.concat([Buffer.from(`${root}/`), Buffer.from(parts.join("/"), "latin1")])

const GIT = { GIT_CONFIG_NOSYSTEM: "1", GIT_CONFIG_GLOBAL: "/dev/null", PATH: process.env.PATH }

/** Applies a step where it can be applied. `trace`: a program that leaves a mark if it runs. */
const apply = (root: string, { kind, path }: HostileStep, trace: string, at: number): void => {
  const target = bytes(root, path)
  if (kind !== "edit") rmSync(target, { recursive: true, force: true })
  if (kind === "remove") return
  mkdirSync(bytes(root, path.slice(0, -1)), { recursive: true })
  switch (kind) {
    case "file":
    case "edit":
      return writeFileSync(target, `${at}\n`)
    case "rules":
      return writeFileSync(target, "b\n*.tmp\n!a\n/[x\n")
    case "attributes":
      return writeFileSync(target, "* filter=evil diff=evil text eol=crlf\n")
    case "pipe":
      // A name that is not UTF-8 can be no argument of Node's.
      return void execFileSync("sh", ["-c", `mkfifo "$(printf '${octal(target)}')"`], { stdio: "ignore" })
    case "link":
      return symlinkSync("/dev/zero", target)
    case "loop":
      return symlinkSync(".", target)
    case "folder":
      return void mkdirSync(target)
    case "huge":
      writeFileSync(target, `${at}\n`)
      return truncateSync(target, 2 ** 41)
    case "deep":
      return void mkdirSync(Buffer.concat([target, Buffer.from("/d".repeat(100))]), { recursive: true })
    case "locked":
      writeFileSync(target, `${at}\n`, { mode: 0 })
      return
    case "repository":
    case "hostile":
      mkdirSync(target)
      writeFileSync(Buffer.concat([target, Buffer.from("/file")]), `${at}\n`)
      return makeRepository(target, kind === "hostile" ? trace : undefined)
  }
}

const octal = (path: Buffer): string =>
  [...path].map((byte) => `\\${byte.toString(8).padStart(3, "0")}`).join("")

const makeRepository = (folder: Buffer, trace: string | undefined): void => {
  const cd = `cd "$(printf '${octal(folder)}')" && git init -q`
  const commit = "git add -A && git -c user.name=a -c user.email=a@b commit -q -m all"
  const settings = [
    "core.fsmonitor",
    "filter.evil.clean",
    "filter.evil.process",
    "diff.external",
    "core.hooksPath"
  ]
  const hostile =
    trace === undefined ? commit : settings.map((key) => `git config ${key} '${trace}'`).join(" && ")
  execFileSync("sh", ["-c", `${cd} && ${hostile}`], { stdio: "ignore", env: GIT })
}

/** Steps that cannot be applied, such as a file below a file, are left out. */
export const applySteps = (
  root: string,
  steps: ReadonlyArray<HostileStep>,
  trace: string,
  from: number
): void =>
  steps.forEach((step, at) => {
    try {
      apply(root, step, trace, from + at)
    } catch {
      // The tree has something else there.
    }
  })

export const traceProgram = (folder: string): string =>
  writeProgram(`${folder}/evil`, `echo ran >> '${folder}/ran'; cat`)

/** Regular files and what tells one content from another, by the bytes of their paths in Latin-1. Nothing of a `.git`. */
export const regularFiles = (root: string): ReadonlyMap<string, string> => {
  const found = new Map<string, string>()
  const folders = [""]
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop())
    for (const entry of readdirSync(bytes(root, [folder]), { encoding: "latin1", withFileTypes: true })) {
      const path = folder === "" ? entry.name : `${folder}/${entry.name}`
      if (entry.name === ".git") continue
      if (entry.isDirectory()) folders.push(path)
      else if (entry.isFile()) {
        const { ctimeNs, ino, size } = lstatSync(bytes(root, [path]), { bigint: true })
        found.set(path, `${ino} ${size} ${ctimeNs}`)
      }
    }
  return found
}
