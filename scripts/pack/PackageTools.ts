/** Tools that check packages, installed in a folder outside the repository: few people need them, and they are larger than all others. */
import { spawn } from "node:child_process"
import { existsSync, mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { root } from "./Modules.ts"

/** Exact versions. `npm` finds them in its cache, or in the registry. */
const packageTools: Readonly<Record<string, string>> = {
  "@arethetypeswrong/cli": "0.18.5",
  publint: "0.3.25",
  "typescript-5.9": "npm:typescript@5.9.3",
  "typescript-6": "npm:typescript@6.0.3"
}

export interface CompletedTool {
  readonly code: number | null
  readonly output: string
}

/** Runs a program to its end. */
export const runTool = (command: string, args: ReadonlyArray<string>, cwd: string): Promise<CompletedTool> =>
  new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, stdio: ["ignore", "pipe", "pipe"] })
    let output = ""
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => (output += text))
    child.once("error", reject)
    child.once("close", (code) => resolve({ code, output }))
  })

/** Compilers by name: the two before this repository's, and that one. */
export const compilers = (tools: string): Readonly<Record<string, string>> => ({
  "TypeScript 5.9": join(tools, "node_modules/typescript-5.9/bin/tsc"),
  "TypeScript 6": join(tools, "node_modules/typescript-6/bin/tsc"),
  "TypeScript 7": join(root, "node_modules/typescript/bin/tsc")
})

/** Installs tools of exact versions. Returns why that failed, or `undefined`. */
export const installTools = async (
  folder: string,
  dependencies = packageTools
): Promise<string | undefined> => {
  if (existsSync(join(folder, "node_modules"))) return undefined
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, dependencies }))
  const args = ["install", "--prefer-offline", "--no-audit", "--no-fund", "--ignore-scripts"]
  const { code, output } = await runTool("npm", args, folder)
  return code === 0 ? undefined : output
}
