/**
 * Coverage of grant rules: the rule itself, and for rules of the configuration, prefixes and patterns.
 */
import type { GrantRule, ShellRule, WriteRule } from "@corral/domain/approval/Grant"
import type { Need } from "./Needs.ts"
import { matchesPath } from "./PathPattern.ts"
import type { WorkspacePaths } from "./PathTarget.ts"
import { coversByPrefix, prefixFault } from "./PrefixRule.ts"
import { grantabilityOf } from "./Interpreters.ts"
import { isAssignment, unwrapCommand } from "./Wrappers.ts"

/** Key of an exact rule. Equal rules have equal keys. */
export const ruleKey = (rule: GrantRule): string => {
  switch (rule.action) {
    case "shell": {
      const { command, cwd = ".", input, prefix = false, writes = [] } = rule
      const files = writes.map(({ append = false, file }) => [file, append])
      return JSON.stringify(["shell", command, cwd, prefix, input ?? null, files])
    }
    case "write":
      return JSON.stringify(["write", rule.files, rule.tool ?? null])
    case "network":
      return JSON.stringify(["network", rule.host, rule.tool ?? null])
    case "tool":
      return JSON.stringify(["tool", rule.tool, rule.input])
  }
}

/** A shell need without its written files. */
export const withoutWrites = ({ action, command, cwd, input }: ShellRule): ShellRule => ({
  action,
  command,
  ...(cwd === undefined ? {} : { cwd }),
  ...(input === undefined ? {} : { input })
})

/** Whether a rule of the configuration covers a need. Written files are not part of it: each needs its own rule. */
export const covers = (rule: GrantRule, need: Need, place: WorkspacePaths): boolean => {
  switch (need.action) {
    case "shell":
      return (
        rule.action === "shell" &&
        (rule.prefix === true ? coversByPrefix(rule, need, place) : ruleKey(rule) === ruleKey(need))
      )
    case "write":
      return (
        rule.action === "write" && usesTool(rule, need) && need.files.every((file) => namesFile(rule, file))
      )
    case "network":
      return rule.action === "network" && usesTool(rule, need) && rule.host === need.host
    case "tool":
      return ruleKey(rule) === ruleKey(need)
  }
}

/** Whether a rule of the configuration allows a redirection to write a file. */
export const coversFile = (rule: GrantRule, file: string): boolean =>
  rule.action === "write" && rule.tool === undefined && namesFile(rule, file)

const namesFile = ({ files }: WriteRule, file: string): boolean =>
  files.some((pattern) => matchesPath(pattern, file))

const usesTool = (rule: { readonly tool?: string }, need: { readonly tool?: string }): boolean =>
  rule.tool === undefined || rule.tool === need.tool

/** Reason why a rule of the configuration can never cover anything, as the end of `expected …`. */
export const unusableReason = (rule: GrantRule): string | undefined => {
  switch (rule.action) {
    case "write":
      return rule.files.some((file) => /^[/\\]|^[A-Za-z]:/.test(file) || file.split("/").includes(".."))
        ? "the files of a grant to be inside the workspace"
        : undefined
    case "shell": {
      const program = rule.command.findIndex((word) => !isAssignment(word))
      const words = program === -1 ? [] : rule.command.slice(program)
      const inner = unwrapCommand(words) ?? []
      const hold = grantabilityOf(inner)
      const quoted = JSON.stringify(words[0] ?? "")
      if (hold === "never") return `a grant to name a program, and ${quoted} runs another program or a script`
      const widens = hold === "exact" || program > 0 || inner.length < words.length
      return rule.prefix === true && widens
        ? `a grant for ${quoted} without prefix, because more arguments make it another program`
        : prefixFault(rule)
    }
    default:
      return undefined
  }
}
