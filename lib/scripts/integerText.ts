/** Reads an integer that Redis keeps as text: `count`, false without a key. Other text is an error, and not a number. */
export const READ_COUNT = `
local count = redis.call('get', name)
if count and not string.find(count, '^-?%d+$') then
  return redis.error_reply('ERR value is not an integer or out of range')
end`;
