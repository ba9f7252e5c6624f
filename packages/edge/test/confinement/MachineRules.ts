/** Mounts of a run in each mode on a machine without real folders, for the means that do not mount. */
import type { RunMode } from "@corral/domain/run/Run"
import { canWrite, mountsOf } from "../../src/confinement/ConfinedRoot.ts"
import { type PathRule, pathRules } from "../../src/confinement/Mount.ts"

export const HOME = "/home/u"
export const WORKSPACE = "/home/u/work"
export const EDGE = "/home/u/.corral"
export const TEMPORARY = "/home/u/.corral/tmp/run_1"

export const mountsIn = (mode: RunMode, workspace = WORKSPACE) =>
  mountsOf({
    mode,
    workspace,
    temporary: TEMPORARY,
    home: HOME,
    system: [
      { kind: "read", path: "/usr" },
      { kind: "link", path: "/bin", target: "usr/bin" },
      { kind: "read", path: "/etc" },
      { kind: "hidden_file", path: "/etc/ssl/private/key" }
    ],
    readable: ["/home/u/.nvm"],
    state: [
      { kind: "write", path: "/home/u/.agent" },
      { kind: "read", path: "/home/u/.agent/hooks" }
    ],
    protected: [`${workspace}/.vscode`],
    repository: canWrite(mode)
      ? [
          { kind: "write", path: `${workspace}/.git` },
          { kind: "read", path: `${workspace}/.git/hooks` }
        ]
      : [],
    caches: [],
    attachments: `${EDGE}/attachments/s1`,
    network: `${TEMPORARY}.net`,
    edgeFolder: EDGE,
    edgeFiles: [`${EDGE}/edge.token`]
  })

/** The same as rules. */
export const rulesIn = (mode: RunMode, workspace?: string): ReadonlyArray<PathRule> =>
  pathRules(mountsIn(mode, workspace))
