const escaped = (text: string): string => text.replaceAll(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`)

/** Page of the identity provider for development: one field with a proposed name, no script. */
export const signInPage = (proposed: string): string => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Sign in</title>
<style>
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 24rem; margin: 20vh auto; padding: 0 1rem; color-scheme: light dark }
  input, button { font: inherit; width: 100%; box-sizing: border-box; padding: .5rem; margin-top: .5rem }
</style>
<form method="post">
  <label>Your name <input name="name" maxlength="100" autocomplete="username" value="${escaped(proposed)}" required autofocus></label>
  <button>Sign in</button>
</form>
<p><small>For development only: any name is accepted.</small></p>
</html>
`
