import { decodeCount } from './replies';
import { defineScript, lua, type Script } from './Script';

/**
 * The script that reads an integer which Redis keeps as text.
 *
 * KEYS: name. ARGV: none. Output: the integer as text, nil without the key; an error if the key holds other text.
 *
 * @param name - of the script
 */
export function defineIntegerScript(name: string): Script<'name', never, number> {
  return defineScript({
    name,
    keys: ['name'],
    args: [],
    resend: 'always',
    lua: lua`
local function integerText(name)
  local text = redis.call('get', name)
  if text and not string.find(text, '^-?%d+$') then
    return redis.error_reply('ERR value is not an integer or out of range')
  end
  return text
end

return integerText(name)
`,
    decode: decodeCount,
  });
}
