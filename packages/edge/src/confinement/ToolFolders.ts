/**
 * Folders of toolchains and caches in a user's home that confined runs read, and the folder that belongs to a program. Data and pure
 * functions.
 *
 * Folders with credentials are not listed: `.cargo`, `.npmrc`, `.config`, `.docker`, `.ssh`.
 */
import { basename, dirname, join } from "node:path"
import { isInFolder } from "./Mount.ts"

/** Relative to the home. */
export const toolFolders: ReadonlyArray<string> = [
  "bin",
  ".local/bin",
  ".local/lib",
  ".local/share/fnm",
  ".local/share/mise",
  ".local/share/pnpm",
  ".local/share/uv",
  ".local/share/virtualenvs",
  ".local/pipx",
  ".asdf",
  ".bun/bin",
  ".cargo/bin",
  ".cargo/registry",
  ".cargo/git",
  ".deno/bin",
  ".dotnet",
  ".fnm",
  ".gem",
  ".local/share/gem",
  ".ghcup",
  ".jenv",
  ".m2/repository",
  ".nodenv",
  ".npm-global",
  ".nvm",
  ".pnpm-store",
  ".pyenv",
  ".rbenv",
  ".rustup",
  ".rvm",
  ".sdkman",
  ".swiftly",
  ".volta",
  "go/bin",
  "go/pkg",
  // Names and addresses of an author, aliases and ignored files.
  ".gitconfig",
  ".config/git/config",
  ".config/git/ignore"
]

/** Folders that hold more than one program, and private files next to them. */
const isBroad = (home: string, folder: string): boolean =>
  isInFolder(folder, home) || [".local", ".cargo", ".config"].some((name) => folder === join(home, name))

/** The folder with everything that belongs to a program: its package's neighbours, its installation, or its own folder. */
export const folderOfProgram = (home: string, path: string): string => {
  const packages = path.indexOf("/node_modules/")
  if (packages !== -1) return path.slice(0, packages + "/node_modules".length)
  const folder = dirname(path)
  const around = dirname(folder)
  return basename(folder) === "bin" && !isBroad(home, around) ? around : folder
}
