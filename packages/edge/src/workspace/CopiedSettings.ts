/**
 * Settings of a workspace's repository that the repository of a run receives: what remotes there are, how files are stored, and who the author
 * is. Data and pure functions.
 *
 * Guarantees: an allowlist. No credential, and no program except LFS in its standard form, is copied.
 */
import type { GitSetting } from "./GitSettings.ts"

/** Keys by section, in lower case. */
const COPIED: Readonly<Record<string, ReadonlyArray<string>>> = {
  user: ["name", "email"],
  author: ["name", "email"],
  committer: ["name", "email"],
  core: [
    "autocrlf",
    "eol",
    "safecrlf",
    "ignorecase",
    "precomposeunicode",
    "quotepath",
    "symlinks",
    "filemode"
  ],
  remote: ["url", "pushurl", "fetch", "push", "tagopt", "prune", "promisor", "partialclonefilter"],
  branch: ["remote", "merge", "rebase", "pushremote"],
  submodule: ["url", "active", "branch"],
  lfs: ["url", "pushurl", "fetchinclude", "fetchexclude", "locksverify", "access"],
  pull: ["rebase", "ff"],
  push: ["default", "autosetupremote", "followtags"],
  merge: ["conflictstyle", "ff"],
  fetch: ["prune"],
  rebase: ["autosquash", "autostash"],
  init: ["defaultbranch"]
}

/** The commands of LFS, as it installs them. */
const LFS: Readonly<Record<string, ReadonlyArray<string>>> = {
  clean: ["git-lfs clean -- %f"],
  smudge: ["git-lfs smudge -- %f", "git-lfs smudge --skip -- %f"],
  process: ["git-lfs filter-process", "git-lfs filter-process --skip"],
  required: ["true"]
}

const URLS = new Set(["url", "pushurl"])

/** The URL without a password, and without the user's name if that may be a token. */
const withoutCredentials = (url: string): string =>
  url.replace(/^(https?:\/\/)[^/@]*@/i, "$1").replace(/^([a-z][a-z0-9+.-]*:\/\/[^/@:]*):[^/@]*@/i, "$1@")

/** A transport that starts a program. */
const namesProgram = (url: string): boolean => /^[a-z0-9+.-]*::/i.test(url)

const copied = (setting: GitSetting): ReadonlyArray<GitSetting> => {
  const { key, section, subsection, value } = setting
  if (section === "filter" && subsection === "lfs")
    return LFS[key]?.includes(value ?? "true") === true ? [setting] : []
  if (COPIED[section]?.includes(key) !== true) return []
  if (!URLS.has(key) || value === undefined) return [setting]
  return namesProgram(value) ? [] : [{ section, subsection, key, value: withoutCredentials(value) }]
}

/** The settings that are copied, in their order. */
export const copiedSettings = (settings: ReadonlyArray<GitSetting>): ReadonlyArray<GitSetting> =>
  settings.flatMap(copied)
