#!/usr/bin/env node
/** `npm create corral-adapter NAME`: copies the template into a new folder with the name of a package. */
import { cpSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"

const USAGE =
  "Usage: npm create corral-adapter NAME\nNAME is the name of a package, such as my-agent or @me/my-agent."

const fail = (message) => {
  process.stderr.write(`${message}\n`)
  process.exit(2)
}

const [name = "", ...more] = process.argv.slice(2)
if (more.length > 0 || !/^(@[a-z0-9][a-z0-9._-]*\/)?[a-z0-9][a-z0-9._-]{0,90}$/.test(name)) fail(USAGE)
const id = name.slice(name.indexOf("/") + 1)
const folder = resolve(id)
const place = statSync(folder, { throwIfNoEntry: false })
if (place !== undefined && (!place.isDirectory() || readdirSync(folder).length > 0))
  fail(`${folder} is not empty. Choose another name, or remove it.`)

const template = join(import.meta.dirname, "template")
const { version } = JSON.parse(readFileSync(join(import.meta.dirname, "package.json"), "utf8"))
// npm names the file of a package so.
const values = { name, id, file: name.replace("@", "").replace("/", "-"), version }
cpSync(template, folder, { recursive: true })
// npm leaves a .gitignore out of a package, and a package has one package.json.
renameSync(join(folder, "gitignore"), join(folder, ".gitignore"))
renameSync(join(folder, "manifest.json"), join(folder, "package.json"))
for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
  if (!entry.isFile()) continue
  const file = join(entry.parentPath, entry.name)
  const text = readFileSync(file, "utf8")
    .replaceAll("corral-adapter-id", values.id)
    .replaceAll("corral-adapter-file", values.file)
  writeFileSync(
    file,
    text.replaceAll("corral-adapter-name", values.name).replaceAll("0.0.0-corral", values.version)
  )
}
process.stdout.write(`${folder} is ready. Its README.md has the next steps.\n`)
