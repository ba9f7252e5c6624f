/**
 * OpenCode's plugin of a run: commands that its tools start do not inherit the password of its server.
 *
 * Does not: hide it from a command that reads the memory or the environment of OpenCode's process, which has the same user.
 */
const secrets = ["OPENCODE_SERVER_PASSWORD", "OPENCODE_SERVER_USERNAME"]

export const withoutPassword = async () => ({
  "shell.env": async (_call, { env }) => {
    for (const name of secrets) env[name] = ""
  }
})
